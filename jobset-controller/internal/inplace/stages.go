package inplace

import (
	"math"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Stages are the slots of a JobSet's group: the replicated jobs whose pods carry an agent (carries, by replicatedJob) and that have any
// pods. How many pods a Job has is what its Job says, if there is one: a changed JobSet does not change the Jobs it has. While they change
// one by one (feature gate ElasticJobSet) the first says it for all.
func Stages(js *v1alpha2.JobSet, jobs []*batchv1.Job, carries []bool) []coordination.Stage {
	sizes := sizesOf(jobs)
	var stages []coordination.Stage
	var counted []int
	for i := range js.Spec.ReplicatedJobs {
		rjob := &js.Spec.ReplicatedJobs[i]
		spec := &rjob.Template.Spec
		if job := sizes[rjob.Name]; job != nil {
			spec = &job.Spec
		}
		stage := coordination.Stage{Prefix: js.Name + "-" + rjob.Name, Jobs: int64(rjob.Replicas), Pods: podsOf(spec)}
		if carries[i] && stage.Slots() > 0 {
			stages, counted = append(stages, stage), append(counted, i)
		}
	}
	order(stages, gatesOf(&js.Spec), counted)
	hold(stages, &js.Spec, counted)
	return stages
}

// sizesOf finds the Job of each replicatedJob that says how large its Jobs are, in whatever order they come.
func sizesOf(jobs []*batchv1.Job) map[string]*batchv1.Job {
	sizes := map[string]*batchv1.Job{}
	for _, job := range jobs {
		rjob := job.Labels[v1alpha2.ReplicatedJobNameKey]
		if known := sizes[rjob]; known == nil || speaksBefore(job, known) {
			sizes[rjob] = job
		}
	}
	return sizes
}

// speaksBefore: one that runs before one that is over, which nobody makes larger or smaller any more; then the lower index.
func speaksBefore(a, b *batchv1.Job) bool {
	if over := policy.Finished(a); over != policy.Finished(b) {
		return !over
	}
	if i, k := indexOf(a), indexOf(b); i != k {
		return i < k
	}
	return a.Name < b.Name
}

// indexOf a Job in its replicatedJob; one that cannot be read comes last.
func indexOf(job *batchv1.Job) int {
	index, err := strconv.Atoi(job.Labels[v1alpha2.JobIndexKey])
	if err != nil {
		return math.MaxInt
	}
	return index
}

// podsOf is how many pods of one Job run at a time.
func podsOf(job *batchv1.JobSpec) int64 {
	parallelism := ptr.Deref(job.Parallelism, 1)
	return int64(min(parallelism, ptr.Deref(job.Completions, parallelism)))
}
