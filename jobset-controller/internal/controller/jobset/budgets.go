package jobset

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// budgets collects, when it is asked, how far JobSets have used up what they may restart.
type budgets struct {
	reader client.Reader
	desc   *prometheus.Desc
}

// NewBudgets makes a collector of the JobSet that is nearest to its last restart. It has no value while the JobSets cannot be read.
func NewBudgets(reader client.Reader) prometheus.Collector {
	return budgets{reader, meter.Desc(series.RestartBudgetUsed)}
}

func (b budgets) Describe(out chan<- *prometheus.Desc) { out <- b.desc }

func (b budgets) Collect(out chan<- prometheus.Metric) {
	var list v1alpha2.JobSetList
	if err := b.reader.List(context.Background(), &list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	largest := 0.0
	for i := range list.Items {
		largest = max(largest, policy.BudgetUsed(&list.Items[i]))
	}
	out <- prometheus.MustNewConstMetric(b.desc, prometheus.GaugeValue, largest)
}
