package inplace

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Stages are the slots of a JobSet's group: the replicated jobs whose pods carry an agent and that have any pods. How many
// pods a Job has is what its Job says, if there is one: a changed JobSet does not change the Jobs it has.
func Stages(js *v1alpha2.JobSet, jobs []*batchv1.Job) []coordination.Stage {
	living := map[string]*batchv1.JobSpec{}
	for _, job := range jobs {
		living[job.Labels[v1alpha2.ReplicatedJobNameKey]] = &job.Spec
	}
	var stages []coordination.Stage
	for i := range js.Spec.ReplicatedJobs {
		entry := &js.Spec.ReplicatedJobs[i]
		spec := &entry.Template.Spec
		if job := living[entry.Name]; job != nil {
			spec = job
		}
		stage := coordination.Stage{Prefix: js.Name + "-" + entry.Name, Jobs: int64(entry.Replicas), Pods: podsOf(spec)}
		if HasAgent(&entry.Template.Spec.Template.Spec) && stage.Slots() > 0 {
			stages = append(stages, stage)
		}
	}
	return stages
}

// podsOf is how many pods of one Job run at a time.
func podsOf(job *batchv1.JobSpec) int64 {
	parallelism := ptr.Deref(job.Parallelism, 1)
	return int64(min(parallelism, ptr.Deref(job.Completions, parallelism)))
}

// Ordered tells whether some replicated jobs start only after others.
func Ordered(spec *v1alpha2.JobSetSpec) bool {
	if spec.StartupPolicy != nil && spec.StartupPolicy.StartupPolicyOrder == v1alpha2.InOrder {
		return true
	}
	for i := range spec.ReplicatedJobs {
		if len(spec.ReplicatedJobs[i].DependsOn) > 0 {
			return true
		}
	}
	return false
}
