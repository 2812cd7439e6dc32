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

// Stages returns the slots of a JobSet's group: the replicatedJobs whose pods have an agent (carries, by replicatedJob) and that
// have any pods. The number of pods comes from the Job, if it exists: a changed JobSet does not change its existing Jobs. While
// they are resized one by one (feature gate ElasticJobSet), the first Job decides for all.
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

// sizesOf returns, for each replicatedJob, the Job that decides about the size, regardless of the order of jobs.
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

// speaksBefore reports whether a decides rather than b: an unfinished Job rather than a finished one, which is never resized; then
// the lower index.
func speaksBefore(a, b *batchv1.Job) bool {
	if over := policy.Finished(a); over != policy.Finished(b) {
		return !over
	}
	if i, k := indexOf(a), indexOf(b); i != k {
		return i < k
	}
	return a.Name < b.Name
}

// indexOf returns the index of a Job in its replicatedJob. An unreadable index comes last.
func indexOf(job *batchv1.Job) int {
	index, err := strconv.Atoi(job.Labels[v1alpha2.JobIndexKey])
	if err != nil {
		return math.MaxInt
	}
	return index
}

// podsOf returns how many pods of one Job run at a time.
func podsOf(job *batchv1.JobSpec) int64 {
	parallelism := ptr.Deref(job.Parallelism, 1)
	return int64(min(parallelism, ptr.Deref(job.Completions, parallelism)))
}
