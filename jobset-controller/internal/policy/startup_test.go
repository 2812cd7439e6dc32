package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Gates depend only on what Jobs report. A worker that is waiting for its group, or that has finished and is held for a
// restart, is still running: its pod is ready and has not succeeded.
func TestGatesDuringAnInPlaceRestart(t *testing.T) {
	js := MakeJobSet("js").Entry("a", 1).
		Entry("b", 1, DependsOn("a", v1alpha2.DependencyReady)).
		Entry("c", 1, DependsOn("a", v1alpha2.DependencyComplete))
	pods := func(active, ready, succeeded int32) *batchv1.Job {
		return MakeJob("js-a-0", "a").Size(2, 2).Pods(active, ready, succeeded).Obj()
	}
	cases := map[string]struct {
		job  *batchv1.Job
		want []bool // whether the gates of a, b and c are open
	}{
		"its workers wait at the barrier":                 {pods(2, 2, 0), []bool{true, true, false}},
		"a readiness probe reports a waiting worker":      {pods(2, 1, 0), []bool{true, false, false}},
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

// A suspended Job reports the old status of its pods. If a user suspends a JobSet and resumes it immediately, it must
// not start all stages.
func TestStaleReadyOpensNoGate(t *testing.T) {
	js := MakeJobSet("js").Entry("a", 1).Entry("b", 1).InOrder()
	for name, job := range map[string]*batchv1.Job{
		"of a Job that is suspended":              MakeJob("js-a-0", "a").Pods(1, 1, 0).Suspended().Obj(),
		"of a Job that has just been resumed":     reportedSuspended(MakeJob("js-a-0", "a").Pods(1, 1, 0)).Obj(),
		"of a Job that is suspended and has none": reportedSuspended(MakeJob("js-a-0", "a").Suspended()).Obj(),
	} {
		t.Run(name, func(t *testing.T) {
			tallies := Tally(&js.Spec, SortJobs([]batchv1.Job{*job}, &js.Status, epoch.First()), nil)
			if diff := cmp.Diff([]bool{true, false}, Gates(&js.Spec, tallies)); diff != "" || tallies[0].Ready != 0 {
				t.Errorf("ready: %d, gates: %s", tallies[0].Ready, diff)
			}
		})
	}
}

func reportedSuspended(job *Job) *Job {
	job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue})
	return job
}

// A user deletes a finished Job. Its stage must not run again while the next one is running.
func TestDeletedJobOfAPassedStageCountsAsSucceeded(t *testing.T) {
	ordered := MakeJobSet("js").Entry("a", 2).Entry("b", 1).Entry("c", 1).WaitFor(v1alpha2.WaitForSucceeded, "a").WaitFor(v1alpha2.WaitForReady, "b")
	depending := MakeJobSet("js").Entry("a", 2).Entry("b", 1, DependsOn("a", v1alpha2.DependencyComplete)).
		Entry("c", 1, DependsOn("b", v1alpha2.DependencyReady))
	a := MakeJob("js-a-1", "a").Succeeded()
	running := MakeJob("js-b-0", "b").Pods(1, 0, 0)
	for name, c := range map[string]struct {
		js   *JobSet
		jobs []*Job
		want []int32 // number of succeeded Jobs of a, b and c
	}{
		"the next stage is running":                                  {ordered, []*Job{a, running}, []int32{2, 0, 0}},
		"the next stage is running, and no Job of the stage is left": {ordered, []*Job{running}, []int32{2, 0, 0}},
		"the next stage has finished":                                {ordered, []*Job{MakeJob("js-b-0", "b").Succeeded()}, []int32{2, 1, 0}},
		"the next stage is deleted too, a later one is running":      {ordered, []*Job{MakeJob("js-c-0", "c").Pods(1, 1, 0)}, []int32{2, 0, 0}},
		"the next stage waits, suspended":                            {ordered, []*Job{a, MakeJob("js-b-0", "b").Suspended()}, []int32{1, 0, 0}},
		"the next stage does not exist":                              {ordered, []*Job{a}, []int32{1, 0, 0}},
		"the next stage is of an earlier attempt":                    {ordered, []*Job{a.Attempt(1), MakeJob("js-b-0", "b").Pods(1, 1, 0)}, []int32{1, 0, 0}},
		"a Job of it was created again":                              {ordered, []*Job{MakeJob("js-a-0", "a").Pods(1, 0, 0), running}, []int32{1, 0, 0}},
		"a replicatedJob that depends on its completion is running":  {depending, []*Job{a, running}, []int32{2, 0, 0}},
		"an indirect dependent is running":                           {depending, []*Job{MakeJob("js-c-0", "c").Pods(1, 1, 0)}, []int32{0, 0, 0}},
		"nothing depends on the completion of the replicatedJob":     {MakeJobSet("js").Entry("a", 2).Entry("b", 1).Entry("c", 1).InOrder(), []*Job{running}, []int32{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var jobs []batchv1.Job
			for _, job := range c.jobs {
				jobs = append(jobs, *job.Obj().DeepCopy())
			}
			js := c.js.Obj().DeepCopy()
			if name == "the next stage is of an earlier attempt" {
				js.Status.Restarts = 1
			}
			var got []int32
			for _, s := range Tally(&js.Spec, SortJobs(jobs, &js.Status, epoch.First()), nil) {
				got = append(got, s.Succeeded)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
