package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Gates look at what Jobs report, whoever runs in the pods. A worker that waits for its group, and one that has finished and is
// held for a restart, runs: its pod is ready, and has not succeeded.
func TestGatesOfAGroupThatRestartsInPlace(t *testing.T) {
	js := MakeJobSet("js").Entry("a", 1).
		Entry("b", 1, DependsOn("a", v1alpha2.DependencyReady)).
		Entry("c", 1, DependsOn("a", v1alpha2.DependencyComplete))
	pods := func(active, ready, succeeded int32) *batchv1.Job {
		return MakeJob("js-a-0", "a").Size(2, 2).Pods(active, ready, succeeded).Obj()
	}
	cases := map[string]struct {
		job  *batchv1.Job
		want []bool // of a, b and c
	}{
		"its workers wait at the barrier":                 {pods(2, 2, 0), []bool{true, true, false}},
		"a readiness probe says that one waits":           {pods(2, 1, 0), []bool{true, false, false}},
		"one is held after it has finished":               {pods(2, 2, 0), []bool{true, true, false}},
		"one has finished under a driver that holds none": {pods(1, 1, 1), []bool{true, true, false}},
		"all were released, the Job is not complete yet":  {pods(0, 0, 2), []bool{true, true, false}},
		"the Job is complete":                             {MakeJob("js-a-0", "a").Succeeded().Obj(), []bool{true, true, true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tallies := Tally(&js.Spec, SortJobs([]batchv1.Job{*c.job}, &js.Status, epoch.First()), nil)
			if diff := cmp.Diff(c.want, Gates(&js.Spec, tallies)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
