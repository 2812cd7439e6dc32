package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

func TestSortJobs(t *testing.T) {
	failOver := epoch.Record{Epoch: 3, Recreate: 3}
	cases := map[string]struct {
		job      *Job
		restarts int32
		alone    []int32
		epoch    epoch.Record
		want     string
	}{
		"an unfinished Job is active":                               {job: MakeJob("a", "w"), want: "active"},
		"a complete Job has succeeded":                              {job: MakeJob("a", "w").Succeeded(), want: "succeeded"},
		"a failed Job has failed":                                   {job: MakeJob("a", "w").Failed(1, "", ""), want: "failed"},
		"a Job that failed while it was deleted has not failed":     {job: MakeJob("a", "w").Deleted(1).Failed(2, "", ""), want: "active"},
		"in the same second the deletion counts as the earlier one": {job: MakeJob("a", "w").Deleted(1).Failed(1, "", ""), want: "active"},
		"a Job that failed and was then deleted has failed":         {job: MakeJob("a", "w").Failed(1, "", "").Deleted(2), want: "failed"},
		"a Job of an earlier attempt is previous":                   {job: MakeJob("a", "w").Attempt(1), restarts: 2, want: "previous"},
		"a failed Job of an earlier attempt is previous":            {job: MakeJob("a", "w").Failed(1, "", ""), restarts: 1, want: "previous"},
		"a Job of the current attempt is active":                    {job: MakeJob("a", "w").Attempt(2), restarts: 2, want: "active"},
		"a Job of a later attempt is active":                        {job: MakeJob("a", "w").Attempt(3), restarts: 2, want: "active"},
		"a Job without an attempt is of the first":                  {job: MakeJob("a", "w").Label(v1alpha2.RestartsKey, ""), restarts: 1, want: "previous"},
		"an attempt that is not a number is the first":              {job: MakeJob("a", "w").Label(v1alpha2.RestartsKey, "x"), want: "active"},
		"a Job of an epoch before the full recreation is previous":  {job: MakeJob("a", "w").Epoch(2), epoch: failOver, want: "previous"},
		"a Job of the epoch of the full recreation is active":       {job: MakeJob("a", "w").Epoch(3), epoch: failOver, want: "active"},
		"a Job without an epoch is older than a full recreation":    {job: MakeJob("a", "w"), epoch: failOver, want: "previous"},
		"a Job whose failure is decided has failed":                 {job: MakeJob("a", "w").Failing(1, "", ""), want: "failed"},
		"a Job that was replaced individually is previous":          {job: MakeJob("a", "w").Index(1), alone: []int32{0, 1}, want: "previous"},
		"its replacement is active":                                 {job: MakeJob("a", "w").Index(1).Alone(1), alone: []int32{0, 1}, want: "active"},
		"the other Jobs of the replicatedJob are active":            {job: MakeJob("a", "w").Index(0), alone: []int32{0, 1}, want: "active"},
		"so are those beyond the counters":                          {job: MakeJob("a", "w").Index(2), alone: []int32{0, 1}, want: "active"},
		"an epoch after a suspend leaves Jobs what they were":       {job: MakeJob("a", "w").Epoch(1), epoch: epoch.Record{Epoch: 2}, want: "active"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status := v1alpha2.JobSetStatus{Restarts: c.restarts, ReplicatedJobsStatus: []v1alpha2.ReplicatedJobStatus{{Name: "w", JobRestarts: c.alone}}}
			sorted := SortJobs([]batchv1.Job{*c.job.Obj()}, &status, c.epoch)
			got := map[string]int{"previous": len(sorted.Previous), "active": len(sorted.Active),
				"succeeded": len(sorted.Succeeded), "failed": len(sorted.Failed)}
			want := map[string]int{"previous": 0, "active": 0, "succeeded": 0, "failed": 0}
			want[c.want] = 1
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if !sorted.Names["a"] {
				t.Error("the name of the Job is free")
			}
		})
	}
}

func TestTally(t *testing.T) {
	spares := func(ready int32) *Job {
		job := MakeJob("a-spares", "w").Size(2, 2).Pods(2, ready, 0)
		job.Labels[v1alpha2.JobIndexKey] = coordination.Spares
		return job
	}
	cases := map[string]struct {
		jobs []*Job
		want v1alpha2.ReplicatedJobStatus
	}{
		"nothing is counted without Jobs":                             {},
		"a Job with all pods ready is ready and active":               {jobs: []*Job{MakeJob("a", "w").Size(2, 2).Pods(2, 2, 0)}, want: v1alpha2.ReplicatedJobStatus{Ready: 1, Active: 1}},
		"a Job with a pod missing is active only":                     {jobs: []*Job{MakeJob("a", "w").Size(2, 2).Pods(2, 1, 0)}, want: v1alpha2.ReplicatedJobStatus{Active: 1}},
		"succeeded pods count as ready":                               {jobs: []*Job{MakeJob("a", "w").Size(2, 2).Pods(1, 1, 1)}, want: v1alpha2.ReplicatedJobStatus{Ready: 1, Active: 1}},
		"no more pods are expected than completions":                  {jobs: []*Job{MakeJob("a", "w").Size(5, 2).Pods(2, 2, 0)}, want: v1alpha2.ReplicatedJobStatus{Ready: 1, Active: 1}},
		"no more pods are expected than parallelism":                  {jobs: []*Job{MakeJob("a", "w").Size(2, 5).Pods(2, 2, 0)}, want: v1alpha2.ReplicatedJobStatus{Ready: 1, Active: 1}},
		"without completions parallelism is expected":                 {jobs: []*Job{MakeJob("a", "w").Size(2, 0).Pods(2, 2, 0)}, want: v1alpha2.ReplicatedJobStatus{Ready: 1, Active: 1}},
		"a ready spare makes up for a missing pod":                    {jobs: []*Job{MakeJob("a", "w").Size(2, 2).Pods(2, 1, 0), spares(1)}, want: v1alpha2.ReplicatedJobStatus{Ready: 1, Active: 1}},
		"a spare is counted once":                                     {jobs: []*Job{MakeJob("a", "w").Size(2, 2).Pods(2, 1, 0), MakeJob("b", "w").Size(2, 2).Pods(2, 1, 0), spares(1)}, want: v1alpha2.ReplicatedJobStatus{Ready: 1, Active: 2}},
		"more pods are missing than there are spares":                 {jobs: []*Job{MakeJob("a", "w").Size(3, 3).Pods(3, 1, 0), spares(1)}, want: v1alpha2.ReplicatedJobStatus{Active: 1}},
		"no spare makes up for a suspended Job":                       {jobs: []*Job{MakeJob("a", "w").Suspended(), spares(2)}, want: v1alpha2.ReplicatedJobStatus{Suspended: 1}},
		"a suspended Job is suspended":                                {jobs: []*Job{MakeJob("a", "w").Suspended()}, want: v1alpha2.ReplicatedJobStatus{Suspended: 1}},
		"a Job may be active and suspended at once":                   {jobs: []*Job{MakeJob("a", "w").Suspended().Pods(1, 1, 0)}, want: v1alpha2.ReplicatedJobStatus{Active: 1, Suspended: 1}},
		"finished Jobs are neither ready nor active":                  {jobs: []*Job{MakeJob("a", "w").Pods(1, 1, 0).Succeeded(), MakeJob("b", "w").Pods(1, 1, 0).Failed(1, "", "")}, want: v1alpha2.ReplicatedJobStatus{Succeeded: 1, Failed: 1}},
		"Jobs of an earlier attempt do not count":                     {jobs: []*Job{MakeJob("a", "w").Attempt(-1).Pods(1, 1, 0)}},
		"a Job of a replicatedJob that does not exist is not counted": {jobs: []*Job{MakeJob("a", "x").Pods(1, 1, 0)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := MakeJobSet("js").Entry("w", 2).Obj().Spec
			c.want.Name = "w"
			got := Tally(&spec, sorted(c.jobs), nil)
			if diff := cmp.Diff([]v1alpha2.ReplicatedJobStatus{c.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFinishedInSpares(t *testing.T) {
	spares := func(n int32) *Job { // n is the number of spares that have succeeded
		job := MakeJob("w-spares", "w").Size(2, 2).Pods(2-n, 0, n)
		job.Labels[v1alpha2.JobIndexKey] = coordination.Spares
		return job
	}
	cases := map[string]struct {
		jobs []*Job
		want []string
	}{
		"workers that have finished in the pods of their Jobs": {jobs: []*Job{MakeJob("w-0", "w").Size(2, 2).Pods(0, 0, 2).Succeeded(), MakeJob("w-1", "w").Size(2, 2).Pods(0, 0, 2).Succeeded(), spares(2)}},
		"a spare makes up for a pod":                           {jobs: []*Job{MakeJob("w-0", "w").Size(2, 2).Pods(1, 0, 1), MakeJob("w-1", "w").Size(2, 2).Pods(0, 0, 2).Succeeded(), spares(1)}, want: []string{"w-0"}},
		"two spares make up for pods of two Jobs":              {jobs: []*Job{MakeJob("w-0", "w").Size(2, 2).Pods(1, 0, 1), MakeJob("w-1", "w").Size(2, 2).Pods(1, 0, 1), spares(2)}, want: []string{"w-0", "w-1"}},
		"a worker is still running":                            {jobs: []*Job{MakeJob("w-0", "w").Size(2, 2).Pods(2, 1, 0), MakeJob("w-1", "w").Size(2, 2).Pods(0, 0, 2).Succeeded(), spares(1)}},
		"the Job controller has not reported it yet":           {jobs: []*Job{MakeJob("w-0", "w").Size(2, 2).Pods(0, 0, 2), MakeJob("w-1", "w").Size(2, 2).Pods(0, 0, 2).Succeeded(), spares(0)}},
		"a Job is missing":                                     {jobs: []*Job{MakeJob("w-0", "w").Size(2, 2).Pods(1, 0, 1), spares(2)}},
		"a Job is being deleted":                               {jobs: []*Job{MakeJob("w-0", "w").Size(2, 2).Pods(1, 0, 1).Deleted(1), MakeJob("w-1", "w").Size(2, 2).Pods(0, 0, 2).Succeeded(), spares(1)}},
		"without spares, the Job controller decides":           {jobs: []*Job{MakeJob("w-0", "w").Size(2, 2).Pods(0, 0, 2), MakeJob("w-1", "w").Size(2, 2).Pods(0, 0, 2).Succeeded()}},
		"spares of another replicatedJob":                      {jobs: []*Job{MakeJob("x-0", "x").Size(2, 2).Pods(1, 0, 1), spares(2)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := MakeJobSet("js").Entry("w", 2).Entry("x", 1).Obj().Spec
			for i := range spec.ReplicatedJobs {
				spec.ReplicatedJobs[i].Template.Spec.Completions = ptr.To[int32](2)
			}
			jobs := sorted(c.jobs)
			found := FinishedInSpares(&spec, jobs)
			var names []string
			for _, job := range found {
				names = append(names, job.Name)
			}
			if diff := cmp.Diff(c.want, names); diff != "" {
				t.Error(diff)
			}
			if s := Tally(&spec, jobs.WithSucceeded(found), nil)[0]; len(c.want) > 0 && s.Succeeded != 2 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestTallyKeepsTheCountersOfSingleJobRestarts(t *testing.T) {
	spec := MakeJobSet("js").Entry("w", 2).Obj().Spec
	previous := []v1alpha2.ReplicatedJobStatus{{Name: "w", Ready: 9, JobRestarts: []int32{0, 3}, JobRestartsCountTowardsMax: []int32{0, 1}}}
	want := []v1alpha2.ReplicatedJobStatus{{Name: "w", JobRestarts: []int32{0, 3}, JobRestartsCountTowardsMax: []int32{0, 1}}}
	if diff := cmp.Diff(want, Tally(&spec, Jobs{}, previous)); diff != "" {
		t.Error(diff)
	}
}

func TestAllReady(t *testing.T) {
	spec := MakeJobSet("js").Entry("a", 1).Entry("b", 2).Obj().Spec
	for name, c := range map[string]struct {
		a, b v1alpha2.ReplicatedJobStatus
		want bool
	}{
		"ready and succeeded Jobs add up to all": {a: v1alpha2.ReplicatedJobStatus{Succeeded: 1}, b: v1alpha2.ReplicatedJobStatus{Ready: 2}, want: true},
		"one is missing":                         {a: v1alpha2.ReplicatedJobStatus{Ready: 1}, b: v1alpha2.ReplicatedJobStatus{Ready: 1}},
		"failed Jobs are not ready":              {a: v1alpha2.ReplicatedJobStatus{Ready: 1}, b: v1alpha2.ReplicatedJobStatus{Ready: 1, Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AllReady(&spec, []v1alpha2.ReplicatedJobStatus{c.a, c.b}); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// sorted returns the Jobs of the current attempt 0 in the first epoch.
func sorted(jobs []*Job) Jobs {
	var list []batchv1.Job
	for _, j := range jobs {
		list = append(list, *j.Obj())
	}
	return SortJobs(list, &v1alpha2.JobSetStatus{}, epoch.First())
}
