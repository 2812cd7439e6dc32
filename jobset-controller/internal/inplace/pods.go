package inplace

import (
	"cmp"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// PodKind is the kind of a group that its pods declare. Its owner is the pod with index 0, so the group ends with that pod.
const PodKind = "Pod"

// IsPods reports whether a JobSet is a group of pods; see OfPods.
func IsPods(js *v1alpha2.JobSet) bool { return js.Kind == PodKind }

// Member is what a pod declares about its group.
type Member struct {
	Leader      string // name of the pod with index 0
	Index, Size int
}

// Leads reports whether the pod has index 0.
func (m Member) Leads(pod *corev1.Pod) bool { return m.Leader == pod.Name }

// MemberOf reads the labels and annotations by which a pod declares its group. declared is false for a pod without a group. It
// returns an error if a pod of a group does not declare a valid size or index; Leader is set then.
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

// Labels of the pods of a LeaderWorkerSet: its name, and the index of the replica.
const (
	LeaderWorkerSetKey = "leaderworkerset.sigs.k8s.io/name"
	lwsGroup           = "leaderworkerset.sigs.k8s.io/group-index"
)

// LeaderWorkerSetOf returns the name of the pod's LeaderWorkerSet, or "" if it has none.
func LeaderWorkerSetOf(pod *corev1.Pod) string { return pod.Labels[LeaderWorkerSetKey] }

// GroupLabels returns the labels that find all pods of a group that its owner has created, given the pod with index 0.
func GroupLabels(leader *corev1.Pod) map[string]string {
	if set, group := leader.Labels[LeaderWorkerSetKey], leader.Labels[lwsGroup]; set != "" && group != "" {
		return map[string]string{LeaderWorkerSetKey: set, lwsGroup: group}
	}
	return map[string]string{v1alpha2.PodGroupKey: leader.Name}
}

// OfPods reads a group of pods as an Indexed Job, given the pod with index 0. OfJob and ChildOf read that Job.
func OfPods(leader *corev1.Pod) *batchv1.Job {
	m, _, _ := MemberOf(leader) // without a size there is one pod; the group was refused because of an error
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

// LeaderOf returns the UID of the pod with index 0, given a pod that the webhook for pods has prepared. All pods except that one
// carry it.
func LeaderOf(pod metav1.Object) string {
	return cmp.Or(pod.GetAnnotations()[v1alpha2.JobSetUIDKey], string(pod.GetUID()))
}
