package inplace

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// A Job without a JobSet is represented as a JobSet whose only replicatedJob has one Job, so that both are planned in
// the same way.
const (
	// JobKind is the kind of a JobSet that represents a Job.
	JobKind = "Job"
	// aloneJob is the name of the JobSet's only replicatedJob, and aloneIndex is the index of its Job. The slots are
	// <Job>-workers-0-<completion index>.
	aloneJob   = "workers"
	aloneIndex = "0"
)

// IsAlone reports whether a JobSet represents a standalone Job or a group of pods; see OfJob.
func IsAlone(js *v1alpha2.JobSet) bool { return js.Kind == JobKind || IsPods(js) }

// OfJob represents a Job without a JobSet as a JobSet. The Job may be a group of pods represented as a Job by OfPods.
// The number of restarts is limited by the backoffLimit that the user has set.
func OfJob(job *batchv1.Job) *v1alpha2.JobSet {
	js := &v1alpha2.JobSet{
		TypeMeta: metav1.TypeMeta{Kind: cmp.Or(job.Kind, JobKind)}, ObjectMeta: job.ObjectMeta,
		Spec: v1alpha2.JobSetSpec{
			Suspend:        job.Spec.Suspend,
			FailurePolicy:  &v1alpha2.FailurePolicy{MaxRestarts: maxRestartsOf(job)},
			ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: aloneJob, Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: job.Spec}}},
		},
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
			LastTransitionTime: c.LastTransitionTime, ObservedGeneration: job.Generation, // a Job's condition has no such field
		})
	}
	return js
}

// maxRestartsOf returns the limit that the user has set on a Job. The webhook recorded it before raising the limit.
func maxRestartsOf(job *batchv1.Job) int32 {
	if n, err := strconv.ParseInt(job.Annotations[v1alpha2.MaxRestartsKey], 10, 32); err == nil && n >= 0 {
		return int32(n)
	}
	return ptr.Deref(job.Spec.BackoffLimit, 6)
}

// ChildOf represents a Job without a JobSet as the Job of the JobSet returned by OfJob. A Job with a leader always
// belongs to the current epoch.
func ChildOf(job *batchv1.Job) batchv1.Job {
	child := *job
	child.Name = job.Name + "-" + aloneJob + "-" + aloneIndex
	child.Labels = PodIdentity(job.Name)
	child.Annotations = maps.Clone(job.Annotations)
	delete(child.Annotations, epoch.Annotation)
	if record, err := epoch.Of(job.Annotations); err == nil && job.Annotations[v1alpha2.LedByKey] != "" {
		child.Annotations[epoch.Annotation] = epoch.FormatNumber(record.Epoch)
	}
	if job.Kind == PodKind {
		child.Spec.ManagedBy = ptr.To("the owner of the pods") // only the owner creates pods
	}
	return child
}

// PodIdentity returns the annotations for pods of a Job without a JobSet, and for pods that declare a group.
func PodIdentity(job string) map[string]string {
	return map[string]string{v1alpha2.JobSetNameKey: job, v1alpha2.ReplicatedJobNameKey: aloneJob, v1alpha2.JobIndexKey: aloneIndex}
}

// PodKind is the kind of a group declared by its pods. Its owner is the pod with index 0, so the group ends with that
// pod.
const PodKind = "Pod"

// IsPods reports whether a JobSet represents a group of pods; see OfPods.
func IsPods(js *v1alpha2.JobSet) bool { return js.Kind == PodKind }

// Member is a pod's declaration of its group.
type Member struct {
	Leader      string // name of the pod with index 0
	Index, Size int
}

// Leads reports whether the pod has index 0.
func (m Member) Leads(pod *corev1.Pod) bool { return m.Leader == pod.Name }

// MemberOf reads the labels and annotations with which a pod declares its group. declared is false for a pod without a
// group. It returns an error if a pod with a group does not declare a valid size or index; Leader is set in that case.
func MemberOf(pod *corev1.Pod) (m Member, declared bool, err error) {
	m.Leader, declared = pod.Labels[v1alpha2.PodGroupKey]
	if !declared {
		return m, false, nil
	}
	size := pod.Annotations[v1alpha2.PodGroupSizeKey]
	if m.Size, err = strconv.Atoi(size); err != nil || m.Size < 1 || m.Size > maxSlots {
		return m, true, fmt.Errorf("annotation %s: %q is not a number of pods from 1 to %d", v1alpha2.PodGroupSizeKey, size, maxSlots)
	}
	index, labeled := pod.Labels[v1alpha2.PodGroupIndexKey]
	if !labeled && m.Leads(pod) {
		return m, true, nil
	}
	index = cmp.Or(index, pod.Labels[appsv1.PodIndexLabel])
	if m.Index, err = strconv.Atoi(index); err != nil || m.Index < 0 || m.Index >= m.Size {
		return m, true, fmt.Errorf("label %s: %q is not an index from 0 to %d", v1alpha2.PodGroupIndexKey, index, m.Size-1)
	}
	if (m.Index == 0) != m.Leads(pod) {
		return m, true, fmt.Errorf("label %s: the pod with index 0 is %s", v1alpha2.PodGroupKey, m.Leader)
	}
	return m, true, nil
}

// Labels on the pods of a LeaderWorkerSet: its name, and the index of the replica.
const (
	LeaderWorkerSetKey = "leaderworkerset.sigs.k8s.io/name"
	lwsGroup           = "leaderworkerset.sigs.k8s.io/group-index"
)

// GroupLabels returns labels that select all pods of a group, given the pod with index 0. They were set by the pods'
// owner.
func GroupLabels(leader *corev1.Pod) map[string]string {
	if set, group := leader.Labels[LeaderWorkerSetKey], leader.Labels[lwsGroup]; set != "" && group != "" {
		return map[string]string{LeaderWorkerSetKey: set, lwsGroup: group}
	}
	return map[string]string{v1alpha2.PodGroupKey: leader.Name}
}

// OfPods represents a group of pods as an Indexed Job, given the pod with index 0. The Job is used by OfJob and
// ChildOf.
func OfPods(leader *corev1.Pod) *batchv1.Job {
	m, _, _ := MemberOf(leader) // without a size there is a single pod; a group with an error has been refused
	size := ptr.To(int32(max(m.Size, 1)))
	job := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{Kind: PodKind}, ObjectMeta: leader.ObjectMeta,
		Spec: batchv1.JobSpec{
			Parallelism: size, Completions: size, CompletionMode: ptr.To(batchv1.IndexedCompletion),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: leader.Labels}, Spec: leader.Spec},
		},
	}
	for _, c := range leader.Status.Conditions {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: batchv1.JobConditionType(c.Type), Status: c.Status, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
		})
	}
	return job
}

// LeaderOf returns the UID of the pod with index 0, given a pod prepared by the webhook for pods. All other pods of the
// group have this UID in an annotation.
func LeaderOf(pod metav1.Object) string {
	return cmp.Or(pod.GetAnnotations()[v1alpha2.JobSetUIDKey], string(pod.GetUID()))
}
