package inplace

import (
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// A Job without a JobSet is read as a JobSet with one replicatedJob of one Job, so that the same plan is made for both.
const (
	// JobKind is the kind of that JobSet.
	JobKind = "Job"
	// aloneJob is the name of that replicatedJob, and aloneIndex the index of its Job. The slots are <Job>-workers-0-<completion
	// index>.
	aloneJob   = "workers"
	aloneIndex = "0"
)

// IsAlone reports whether a JobSet is a Job without a JobSet, or a group of pods; see OfJob.
func IsAlone(js *v1alpha2.JobSet) bool { return js.Kind == JobKind || IsPods(js) }

// OfJob reads a Job without a JobSet as a JobSet. The Job may be a group of pods that OfPods has read as a Job. The restarts are
// limited by the backoffLimit that its author has set.
func OfJob(job *batchv1.Job) *v1alpha2.JobSet {
	js := &v1alpha2.JobSet{
		TypeMeta: metav1.TypeMeta{Kind: JobKind}, ObjectMeta: job.ObjectMeta,
		Spec: v1alpha2.JobSetSpec{
			Suspend:        job.Spec.Suspend,
			FailurePolicy:  &v1alpha2.FailurePolicy{MaxRestarts: maxRestartsOf(job)},
			ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: aloneJob, Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: job.Spec}}},
		},
	}
	if job.Kind == PodKind {
		js.Kind = PodKind
	}
	if by := ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName); by != batchv1.JobControllerName {
		js.Spec.ManagedBy = &by
	}
	switch {
	case policy.FailureOf(job) != nil:
		js.Status.TerminalState = string(v1alpha2.JobSetFailed)
	case policy.Finished(job):
		js.Status.TerminalState = string(v1alpha2.JobSetCompleted)
	}
	for _, c := range job.Status.Conditions {
		js.Status.Conditions = append(js.Status.Conditions, metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime, ObservedGeneration: job.Generation, // a Job's condition does not have it
		})
	}
	return js
}

// maxRestartsOf returns the author's limit for a Job. The webhook recorded it before raising the limit.
func maxRestartsOf(job *batchv1.Job) int32 {
	if n, err := strconv.ParseInt(job.Annotations[v1alpha2.MaxRestartsKey], 10, 32); err == nil && n >= 0 {
		return int32(n)
	}
	return ptr.Deref(job.Spec.BackoffLimit, 6)
}

// ChildOf reads a Job without a JobSet as the Job of the JobSet that OfJob returns. A Job with a leader always belongs to the
// current epoch.
func ChildOf(job *batchv1.Job) batchv1.Job {
	child := *job
	child.Name = job.Name + "-" + aloneJob + "-" + aloneIndex
	child.Labels = map[string]string{v1alpha2.JobSetNameKey: job.Name, v1alpha2.ReplicatedJobNameKey: aloneJob, v1alpha2.JobIndexKey: aloneIndex}
	child.Annotations = maps.Clone(job.Annotations)
	delete(child.Annotations, epoch.Annotation)
	if record, err := epoch.Of(job.Annotations); err == nil && job.Annotations[v1alpha2.LedByKey] != "" {
		child.Annotations[epoch.Annotation] = epoch.FormatNumber(record.Epoch)
	}
	if job.Kind == PodKind {
		child.Spec.ManagedBy = ptr.To("the owner of the pods") // no other program creates any
	}
	return child
}

// PodIdentity returns the annotations of the pods of a Job without a JobSet, or of a group of pods.
func PodIdentity(job string) map[string]string {
	return map[string]string{v1alpha2.JobSetNameKey: job, v1alpha2.ReplicatedJobNameKey: aloneJob, v1alpha2.JobIndexKey: aloneIndex}
}
