package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

func TestGatesOfAnOrderedStart(t *testing.T) {
	three := func() *JobSet { return MakeJobSet("js").Entry("a", 2).Entry("b", 1).Entry("c", 1) }
	type status = v1alpha2.ReplicatedJobStatus
	cases := map[string]struct {
		js       *JobSet
		statuses []status
		want     []bool
		started  bool
	}{
		"without rules the first starts": {three().InOrder(), []status{{}, {}, {}}, []bool{true, false, false}, false},
		"without rules readiness opens":  {three().InOrder(), []status{{Ready: 2}, {}, {}}, []bool{true, true, false}, false},
		"one of two is not enough":       {three().InOrder(), []status{{Ready: 1}, {}, {}}, []bool{true, false, false}, false},
		"a Job that succeeded before it was observed as ready counts": {
			three().InOrder(), []status{{Ready: 1, Succeeded: 1}, {}, {}}, []bool{true, true, false}, false},
		"a Job that failed does not": {three().InOrder(), []status{{Ready: 1, Failed: 1}, {}, {}}, []bool{true, false, false}, false},
		"Succeeded is not reached by readiness": {
			three().WaitFor(v1alpha2.WaitForSucceeded, "a").WaitFor(v1alpha2.WaitForReady, "b"),
			[]status{{Ready: 2}, {}, {}}, []bool{true, false, false}, false},
		"nor by some successes": {
			three().WaitFor(v1alpha2.WaitForSucceeded, "a").WaitFor(v1alpha2.WaitForReady, "b"),
			[]status{{Ready: 1, Succeeded: 1}, {}, {}}, []bool{true, false, false}, false},
		"a mixed sequence, its second stage": {
			three().WaitFor(v1alpha2.WaitForSucceeded, "a").WaitFor(v1alpha2.WaitForReady, "b"),
			[]status{{Succeeded: 2}, {}, {}}, []bool{true, true, false}, false},
		"its third": {
			three().WaitFor(v1alpha2.WaitForSucceeded, "a").WaitFor(v1alpha2.WaitForReady, "b"),
			[]status{{Succeeded: 2}, {Ready: 1}, {}}, []bool{true, true, true}, false},
		"its end": {
			three().WaitFor(v1alpha2.WaitForSucceeded, "a").WaitFor(v1alpha2.WaitForReady, "b"),
			[]status{{Succeeded: 2}, {Ready: 1}, {Ready: 1}}, []bool{true, true, true}, true},
		"one rule for two replicatedJobs is a gate after each": {
			three().WaitFor(v1alpha2.WaitForSucceeded, "a", "b"),
			[]status{{Succeeded: 2}, {Ready: 1}, {}}, []bool{true, true, false}, false},
		"rules may be written in another order": {
			three().WaitFor(v1alpha2.WaitForReady, "b").WaitFor(v1alpha2.WaitForSucceeded, "a"),
			[]status{{Ready: 2}, {}, {}}, []bool{true, false, false}, false},
		"a rule without a status waits for Ready": {
			three().WaitFor("", "a", "b"), []status{{Ready: 2}, {}, {}}, []bool{true, true, false}, false},
		"a replicatedJob without Jobs delays no other": {
			MakeJobSet("js").Entry("a", 0).Entry("b", 1).WaitFor(v1alpha2.WaitForSucceeded, "a"),
			[]status{{}, {}}, []bool{true, true}, false},
		"a suspended JobSet creates the Jobs of all stages": {
			three().WaitFor(v1alpha2.WaitForSucceeded, "a", "b").Suspend(true), []status{{}, {}, {}}, []bool{true, true, true}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Gates(&c.js.Spec, c.statuses)); diff != "" {
				t.Error(diff)
			}
			if _, wait := Blocker(&c.js.Spec, c.statuses); (wait == "") != c.started {
				t.Errorf("waits to be %q", wait)
			}
		})
	}
}

func TestBlocker(t *testing.T) {
	js := MakeJobSet("js").Entry("a", 1).Entry("b", 1).Entry("c", 1).WaitFor(v1alpha2.WaitForSucceeded, "a").WaitFor(v1alpha2.WaitForReady, "b")
	type status = v1alpha2.ReplicatedJobStatus
	for want, statuses := range map[string][]status{
		"a Succeeded": {{Ready: 1}, {}, {}},
		"b Ready":     {{Succeeded: 1}, {}, {}},
		"c Ready":     {{Succeeded: 1}, {Ready: 1}, {}},
		" ":           {{Succeeded: 1}, {Ready: 1}, {Ready: 1}},
	} {
		if rjob, wait := Blocker(&js.Spec, statuses); rjob+" "+string(wait) != want {
			t.Errorf("got %s %s, want %s", rjob, wait, want)
		}
	}
}
