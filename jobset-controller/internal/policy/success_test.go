package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestSuccess(t *testing.T) {
	a0, a1, b0 := MakeJob("js-a-0", "a").Succeeded(), MakeJob("js-a-1", "a").Succeeded(), MakeJob("js-b-0", "b").Succeeded()
	cases := map[string]struct {
		change func(*JobSet) *JobSet
		jobs   []*Job
		want   Outcome
	}{
		"without a policy all Jobs must succeed":               {jobs: []*Job{a0, a1, b0}, want: Complete},
		"without a policy one missing Job prevents completion": {jobs: []*Job{a0, b0}},
		"All requires all Jobs of the targets":                 {change: func(w *JobSet) *JobSet { return w.Success(v1alpha2.OperatorAll, "a") }, jobs: []*Job{a0, a1}, want: Complete},
		"All is not satisfied by another replicatedJob":        {change: func(w *JobSet) *JobSet { return w.Success(v1alpha2.OperatorAll, "a") }, jobs: []*Job{a0, b0}},
		"Any is satisfied by one Job":                          {change: func(w *JobSet) *JobSet { return w.Success(v1alpha2.OperatorAny) }, jobs: []*Job{b0}, want: Complete},
		"Any requires a Job of the targets":                    {change: func(w *JobSet) *JobSet { return w.Success(v1alpha2.OperatorAny, "a") }, jobs: []*Job{b0}},
		"a JobSet is not complete before it has started":       {},
		"no required Jobs and none succeeded is not a success": {change: func(w *JobSet) *JobSet { return w.Entry("none", 0).Success(v1alpha2.OperatorAll, "none") }, jobs: []*Job{a0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			js := MakeJobSet("js").Entry("a", 2).Entry("b", 1)
			if c.change != nil {
				js = c.change(js)
			}
			if got := decide(t, js, c.jobs...); got.Outcome != c.want {
				t.Errorf("got %+v", verdictOf(got))
			}
		})
	}
}

func TestGates(t *testing.T) {
	status := func(ready, succeeded, failed int32) v1alpha2.ReplicatedJobStatus {
		return v1alpha2.ReplicatedJobStatus{Ready: ready, Succeeded: succeeded, Failed: failed}
	}
	none, ready, done := status(0, 0, 0), status(2, 0, 0), status(0, 2, 0)
	inOrder := MakeJobSet("js").Entry("a", 2).Entry("b", 2).Entry("c", 2).InOrder()
	chain := MakeJobSet("js").Entry("a", 2).
		Entry("b", 2, DependsOn("a", v1alpha2.DependencyReady)).
		Entry("c", 2, DependsOn("a", v1alpha2.DependencyComplete), DependsOn("b", v1alpha2.DependencyReady))
	cases := map[string]struct {
		jobSet   *JobSet
		statuses []v1alpha2.ReplicatedJobStatus
		want     []bool
	}{
		"without an order all may start":                                {MakeJobSet("js").Entry("a", 2).Entry("b", 2), []v1alpha2.ReplicatedJobStatus{none, none}, []bool{true, true}},
		"in order the first may start":                                  {inOrder, []v1alpha2.ReplicatedJobStatus{none, none, none}, []bool{true, false, false}},
		"in order the second follows the first":                         {inOrder, []v1alpha2.ReplicatedJobStatus{ready, none, none}, []bool{true, true, false}},
		"in order a half-ready replicatedJob delays the next":           {inOrder, []v1alpha2.ReplicatedJobStatus{status(1, 0, 0), none, none}, []bool{true, false, false}},
		"in order succeeded Jobs count as ready":                        {inOrder, []v1alpha2.ReplicatedJobStatus{status(1, 1, 0), none, none}, []bool{true, true, false}},
		"in order failed Jobs do not":                                   {inOrder, []v1alpha2.ReplicatedJobStatus{status(0, 1, 1), none, none}, []bool{true, false, false}},
		"in order no replicatedJob starts before all earlier ones have": {inOrder, []v1alpha2.ReplicatedJobStatus{none, ready, none}, []bool{true, false, false}},
		"a dependency on Ready waits":                                   {chain, []v1alpha2.ReplicatedJobStatus{none, none, none}, []bool{true, false, false}},
		"a dependency on Ready is met":                                  {chain, []v1alpha2.ReplicatedJobStatus{ready, none, none}, []bool{true, true, false}},
		"a dependency on Complete is not met by Ready":                  {chain, []v1alpha2.ReplicatedJobStatus{ready, ready, none}, []bool{true, true, false}},
		"all dependencies must be met":                                  {chain, []v1alpha2.ReplicatedJobStatus{done, none, none}, []bool{true, true, false}},
		"all dependencies are met":                                      {chain, []v1alpha2.ReplicatedJobStatus{done, ready, none}, []bool{true, true, true}},
		"a dependency on an unknown replicatedJob is never met":         {MakeJobSet("js").Entry("a", 1, DependsOn("x", v1alpha2.DependencyReady)), []v1alpha2.ReplicatedJobStatus{none}, []bool{false}},
		"a replicatedJob without Jobs delays no other":                  {MakeJobSet("js").Entry("a", 0).Entry("b", 1).InOrder(), []v1alpha2.ReplicatedJobStatus{none, none}, []bool{true, true}},
		"while suspended the order does not matter":                     {MakeJobSet("js").Entry("a", 2).Entry("b", 2).InOrder().Suspend(true), []v1alpha2.ReplicatedJobStatus{none, none}, []bool{true, true}},
		"while suspended dependencies do":                               {MakeJobSet("js").Entry("a", 2).Entry("b", 2, DependsOn("a", v1alpha2.DependencyReady)).Suspend(true), []v1alpha2.ReplicatedJobStatus{none, none}, []bool{true, false}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Gates(&c.jobSet.Spec, c.statuses)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlacedByWebhook(t *testing.T) {
	onTemplate := MakeJobSet("js").Entry("a", 1).Entry("b", 1, func(e *v1alpha2.ReplicatedJob) {
		e.Template.Annotations = map[string]string{v1alpha2.ExclusiveKey: "rack"}
	})
	cases := map[string]struct {
		jobSet *JobSet
		want   bool
	}{
		"without the annotation nothing is requested": {jobSet: MakeJobSet("js").Workers(1)},
		"the JobSet requests it":                      {jobSet: MakeJobSet("js").Workers(1).Annotation(v1alpha2.ExclusiveKey, "rack"), want: true},
		"a template requests it":                      {jobSet: onTemplate, want: true},
		"the node selector strategy needs no webhook": {jobSet: MakeJobSet("js").Workers(1).Annotation(v1alpha2.ExclusiveKey, "rack").Annotation(v1alpha2.NodeSelectorStrategyKey, "true")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := PlacedByWebhook(c.jobSet.Obj()); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
