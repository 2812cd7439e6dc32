package inplace

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Stages are the slots of a JobSet's group: the replicated jobs whose pods carry an agent (carries, by entry) and that have any
// pods. How many pods a Job has is what its Job says, if there is one: a changed JobSet does not change the Jobs it has.
func Stages(js *v1alpha2.JobSet, jobs []*batchv1.Job, carries []bool) []coordination.Stage {
	living := map[string]*batchv1.JobSpec{}
	for _, job := range jobs {
		living[job.Labels[v1alpha2.ReplicatedJobNameKey]] = &job.Spec
	}
	var stages []coordination.Stage
	var counted []int
	for i := range js.Spec.ReplicatedJobs {
		entry := &js.Spec.ReplicatedJobs[i]
		spec := &entry.Template.Spec
		if job := living[entry.Name]; job != nil {
			spec = job
		}
		stage := coordination.Stage{Prefix: js.Name + "-" + entry.Name, Jobs: int64(entry.Replicas), Pods: podsOf(spec)}
		if carries[i] && stage.Slots() > 0 {
			stages, counted = append(stages, stage), append(counted, i)
		}
	}
	order(stages, gatesOf(&js.Spec), counted)
	hold(stages, &js.Spec, counted)
	return stages
}

// podsOf is how many pods of one Job run at a time.
func podsOf(job *batchv1.JobSpec) int64 {
	parallelism := ptr.Deref(job.Parallelism, 1)
	return int64(min(parallelism, ptr.Deref(job.Completions, parallelism)))
}
