package exclusive

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Gate holds a follower back until the domain of its leader is known.
const Gate = "holdfast.dev/exclusive-placement"

// Topology returns the node label whose values are the domains. It is "" for a pod that this package does not place: the pod does
// not ask for it, or its nodes were reserved beforehand (node selector strategy).
func Topology(pod metav1.Object) string {
	if _, reserved := pod.GetAnnotations()[v1alpha2.NodeSelectorStrategyKey]; reserved {
		return ""
	}
	return pod.GetAnnotations()[v1alpha2.ExclusiveKey]
}

// Prepare changes a pod that is being created so that it is placed exclusively. domain is that of the Job's pods, "" if it is not
// known yet: the pod then waits for its leader, or leads if the leader has ended. If the pod is a copy of another one, the copied
// settings are replaced.
func Prepare(pod *corev1.Pod, domain string, leaderIsOver bool) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, v1alpha2.PriorityKey, priority(pod))
	if leaderIsOver && domain == "" && !Leads(pod) {
		pod.Annotations[LeaderKey] = "true"
	}
	switch {
	case Leads(pod):
		attract(pod)
	case domain == "":
		hold(pod)
	default:
		release(pod, domain)
	}
}

// Prepared reports whether what Prepare did is still in place.
func Prepared(pod *corev1.Pod) bool {
	if Leads(pod) {
		affinity := pod.Spec.Affinity
		return affinity != nil && affinity.PodAffinity != nil && affinity.PodAntiAffinity != nil &&
			slices.ContainsFunc(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, concerns(pod)) &&
			slices.ContainsFunc(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, concerns(pod))
	}
	return Held(pod) || pod.Spec.NodeSelector[Topology(pod)] != ""
}

// Held reports whether a pod waits for its domain.
func Held(pod *corev1.Pod) bool { return slices.ContainsFunc(pod.Spec.SchedulingGates, isGate) }

func isGate(g corev1.PodSchedulingGate) bool { return g.Name == Gate }

func hold(pod *corev1.Pod) {
	delete(pod.Spec.NodeSelector, Topology(pod))
	if !Held(pod) {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: Gate})
	}
}

func release(pod *corev1.Pod, domain string) {
	pod.Spec.SchedulingGates = slices.DeleteFunc(pod.Spec.SchedulingGates, isGate)
	if pod.Spec.NodeSelector == nil {
		pod.Spec.NodeSelector = map[string]string{}
	}
	pod.Spec.NodeSelector[Topology(pod)] = domain
}

// priority returns the priority of the pod, which admission has resolved by now.
func priority(pod *corev1.Pod) string {
	return strconv.FormatInt(int64(ptr.Deref(pod.Spec.Priority, 0)), 10)
}
