package jobset

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/series"
)

// jobSetReader is a reader that returns these JobSets.
type jobSetReader struct {
	client.Reader
	jobSets []*v1alpha2.JobSet
	err     error
}

func (l jobSetReader) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	for _, js := range l.jobSets {
		into.(*v1alpha2.JobSetList).Items = append(into.(*v1alpha2.JobSetList).Items, *js)
	}
	return l.err
}

func allows(restarts, used int32) *v1alpha2.JobSet {
	return wrappers.MakeJobSet("a").Restarts(used, used).Change(func(js *v1alpha2.JobSet) {
		js.Spec.FailurePolicy = &v1alpha2.FailurePolicy{MaxRestarts: restarts}
	}).Obj()
}

func TestLargestUsedBudgetShareIsServed(t *testing.T) {
	for name, c := range map[string]struct {
		reader jobSetReader
		want   float64
	}{
		"no JobSets":             {jobSetReader{}, 0},
		"the nearest":            {jobSetReader{jobSets: []*v1alpha2.JobSet{allows(10, 2), allows(4, 3), allows(100, 50)}}, 0.75},
		"JobSets cannot be read": {jobSetReader{err: errors.New("the cache has not started")}, math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			registry.MustRegister(NewBudgets(c.reader))
			families, err := registry.Gather()
			if err != nil || len(families) != 1 || families[0].GetName() != series.RestartBudgetUsed.Name {
				t.Fatalf("got %v (%v)", families, err)
			}
			if got := families[0].GetMetric()[0].GetGauge().GetValue(); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
