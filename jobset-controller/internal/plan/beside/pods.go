package beside

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
)

// Lead adds an agent to the pod with index 0 of a group declared by its pods, if the pod requests in-place restarts.
// against is a reason for refusal that is not visible in the pod, or "". The pod must have a name. Lead reports whether
// the pod has an agent. If not, an annotation on the pod gives the reason.
func Lead(pod *corev1.Pod, against string, s inject.Settings, installation string) bool {
	dropWritten(pod)
	if !Asks(pod) {
		return false
	}
	m, _, err := inplace.MemberOf(pod)
	join(pod, m, err == nil)
	switch {
	case err != nil:
		return refuse(pod, err.Error())
	case metav1.GetControllerOfNoCopy(pod) == nil:
		return refuse(pod, "the pod has no owner that recreates it")
	case against != "":
		return refuse(pod, against)
	}
	return add(pod, nil, s, installation)
}

// Follow does the same as Lead for any other pod of the group, given the pod with index 0. If that pod does not request
// in-place restarts, or was refused, Follow does not change the pod.
func Follow(pod, leader *corev1.Pod, s inject.Settings, installation string) bool {
	dropWritten(pod)
	if !Asks(leader) && leader.Labels[inplace.LeaderWorkerSetKey] == "" || leader.Annotations[v1alpha2.RefusedKey] != "" {
		return false
	}
	by, prepared := leader.Annotations[v1alpha2.LedByKey]
	if prepared && by != installation {
		return false
	}
	m, _, err := inplace.MemberOf(pod)
	join(pod, m, err == nil)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha2.JobSetUIDKey, string(leader.UID))
	if err == nil {
		err = conflict(pod, m, leader)
	}
	switch {
	case err != nil:
		return refuse(pod, err.Error())
	case !prepared:
		return refuse(pod, "the pod with index 0 has no agent")
	}
	return add(pod, leader.Annotations, s, installation)
}

// WithoutAgent returns why a pod that declares its membership in a group has no agent, or "" if it has one.
func WithoutAgent(pod *corev1.Pod, installation string) string {
	switch refused := pod.Annotations[v1alpha2.RefusedKey]; {
	case pod.Annotations[v1alpha2.LedByKey] == installation:
		return ""
	case refused != "":
		return refused
	}
	return "created without an agent, because the webhook was unreachable or does not apply to it"
}

// conflict returns an error if the pod describes its group differently from the pod with index 0.
func conflict(pod *corev1.Pod, m inplace.Member, leader *corev1.Pod) error {
	first, _, err := inplace.MemberOf(leader)
	if err != nil {
		return fmt.Errorf("pod %s: %w", leader.Name, err)
	}
	if m.Size != first.Size {
		return fmt.Errorf("annotation %s: the group size is %d here, but %d on pod %s", v1alpha2.PodGroupSizeKey, m.Size, first.Size, leader.Name)
	}
	return claims(pod, leader)
}

func controllerOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s (%s)", owner.Kind, owner.Name, owner.UID)
}

// dropWritten removes annotations that programs wrote on the pod from which this one was copied.
func dropWritten(pod *corev1.Pod) {
	provenance.Drop(pod.Annotations)
	for _, key := range []string{v1alpha2.RefusedKey, v1alpha2.JobSetUIDKey} {
		delete(pod.Annotations, key)
	}
}

// join sets the labels and annotations from which the orchestrator and the agent determine the pod's group. Without a
// valid index, the pod does not get a slot in the group.
func join(pod *corev1.Pod, m inplace.Member, valid bool) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha2.GroupKindKey, inplace.PodKind)
	for key, value := range inplace.PodIdentity(m.Leader) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value)
	}
	if !valid {
		return
	}
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha2.PodGroupKey, m.Leader)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha2.PodGroupIndexKey, strconv.Itoa(m.Index))
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, strconv.Itoa(m.Index))
}

func refuse(pod *corev1.Pod, why string) bool {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha2.RefusedKey, why)
	return false
}

// inherited lists the annotations that a pod inherits from the pod with index 0 unless it sets its own.
var inherited = []string{
	v1alpha2.InPlaceTimeoutKey, v1alpha2.InPlaceDriverKey, v1alpha2.InPlaceContainerKey,
	v1alpha2.ProgressTimeoutKey, v1alpha2.ProgressStartTimeoutKey, v1alpha2.ProgressFromKey,
}

// add adds the agent that the pod or its leader requests.
func add(pod *corev1.Pod, leader map[string]string, s inject.Settings, installation string) bool {
	a, why := assess(pod, leader)
	if why = cmp.Or(why, s.Lacks(a)); why != "" {
		return refuse(pod, why)
	}
	job, policy := inplace.OfPods(pod), pod.Spec.RestartPolicy
	inject.For(a, nil, s).Into(0, job, inject.First{})
	pod.Spec = job.Spec.Template.Spec
	pod.Spec.RestartPolicy = policy
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha2.LedByKey, installation)
	return true
}

// assess returns what to add to the pod, or why nothing can be added.
func assess(pod *corev1.Pod, leader map[string]string) (a inject.Assessment, why string) {
	js := inplace.OfJob(inplace.OfPods(pod))
	js.Annotations = maps.Clone(js.Annotations)
	for _, key := range inherited {
		if value, found := leader[key]; found && js.Annotations[key] == "" {
			js.Annotations[key] = value
		}
	}
	if a, why = inject.Assess(js), Refusal(js); why == "" && a.Entries[0].Driver != inject.Exec {
		why = "all pods of the group need the exec driver, and none may have an agent of its own"
	}
	return a, why
}
