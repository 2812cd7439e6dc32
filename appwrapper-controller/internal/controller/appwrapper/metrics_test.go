package appwrapper

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/series"
)

// values returns the values of a metric by its label values, in the order of the label names.
func values(t *testing.T, registry *prometheus.Registry, metric series.Metric) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == metric.Name {
				found[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return found
}

func TestResetSeriesStartAtZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewMetrics(registry)
	found := values(t, registry, series.Resets)
	if value, announced := found["false AutopilotNoExecute"]; !announced || value != 0 || len(found) != len(policy.Resets) {
		t.Errorf("got %v", found)
	}
}

func TestTransitionsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	s := &scope{aw: &v1beta2.AppWrapper{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}}
	m.count(s, &policy.Decision{Next: v1beta2.Running}, v1beta2.Resuming)
	m.count(s, &policy.Decision{Next: v1beta2.Running}, v1beta2.Running)
	m.count(s, &policy.Decision{Next: v1beta2.Terminating}, v1beta2.Running)
	if diff := cmp.Diff(map[string]float64{"a Running": 1}, values(t, registry, series.Phases)); diff != "" {
		t.Error(diff)
	}
}
