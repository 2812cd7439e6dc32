// Package exclusive gives each Job a topology domain, such as a rack, to itself. It performs no I/O: it modifies a pod
// that is being created, and plans what to do with the pods of a Job.
//
//	leader (completion index 0)   affinity to its own Job, anti-affinity to all others ──> the scheduler chooses a domain
//	follower, domain known        node selector of that domain ──────────────────────────> the scheduler chooses a node
//	follower, domain not known    scheduling gate ──> the leader gets a node ──> node selector, gate removed
//	pod without an index          treated as a leader, because there is no leader to follow
//	index 0 will not run again    pods are leaders until one of them has a node, which matters when a Job is resumed
//
// Only leaders have affinities, because their cost in the scheduler grows with the number of pods and nodes. If a
// leader is rescheduled to another domain, its followers are evicted, and their replacements follow it. It makes no
// difference whether a pod is created by the Job controller or by a program that replaces a lost pod.
package exclusive

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

// Gate holds a follower back until the domain of its leader is known.
const Gate = "holdfast.dev/exclusive-placement"

// Topology returns the node label whose values are the domains. It returns "" for a pod that this package does not
// place: the pod does not request it, or its nodes were reserved beforehand (node selector strategy).
func Topology(pod metav1.Object) string {
	if _, reserved := pod.GetAnnotations()[v1alpha2.NodeSelectorStrategyKey]; reserved {
		return ""
	}
	return pod.GetAnnotations()[v1alpha2.ExclusiveKey]
}

// Prepare modifies a pod that is being created so that it is placed exclusively. domain is the domain of the Job's
// pods, or "" if it is not known yet. In the latter case, the pod waits for its leader, or becomes the leader if the
// leader has finished. If the pod is a copy of another one, the copied settings are replaced.
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

// Prepared reports whether the changes made by Prepare are still in place.
func Prepared(pod *corev1.Pod) bool {
	if Leads(pod) {
		affinity := pod.Spec.Affinity
		return affinity != nil && affinity.PodAffinity != nil && affinity.PodAntiAffinity != nil &&
			slices.ContainsFunc(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, concerns(pod)) &&
			slices.ContainsFunc(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, concerns(pod))
	}
	return Held(pod) || pod.Spec.NodeSelector[Topology(pod)] != ""
}

// Held reports whether a pod is waiting for its domain.
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

// priority returns the priority of the pod, which admission has already resolved.
func priority(pod *corev1.Pod) string {
	return strconv.FormatInt(int64(ptr.Deref(pod.Spec.Priority, 0)), 10)
}

// attract restricts the pod to domains that have no exclusively placed pod of another Job and, if pods of its own Job
// are already running, to their domain. Pods with another priority are ignored, so that the scheduler may preempt them.
func attract(pod *corev1.Pod) {
	own := pod.Labels[v1alpha2.JobKey]
	same := term(pod, metav1.LabelSelectorRequirement{Key: v1alpha2.JobKey, Operator: metav1.LabelSelectorOpIn, Values: []string{own}})
	others := term(pod,
		metav1.LabelSelectorRequirement{Key: v1alpha2.JobKey, Operator: metav1.LabelSelectorOpExists},
		metav1.LabelSelectorRequirement{Key: v1alpha2.JobKey, Operator: metav1.LabelSelectorOpNotIn, Values: []string{own}},
		metav1.LabelSelectorRequirement{Key: v1alpha2.PriorityKey, Operator: metav1.LabelSelectorOpIn, Values: []string{priority(pod)}},
	)
	replace(&plan.AntiAffinity(&pod.Spec).RequiredDuringSchedulingIgnoredDuringExecution, pod, others)
	pod.Spec.Affinity.PodAffinity = cmp.Or(pod.Spec.Affinity.PodAffinity, &corev1.PodAffinity{})
	replace(&pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, pod, same)
}

// term returns an affinity term for all namespaces, because a domain is exclusive in the whole cluster.
func term(pod *corev1.Pod, requirements ...metav1.LabelSelectorRequirement) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		LabelSelector:     &metav1.LabelSelector{MatchExpressions: requirements},
		NamespaceSelector: &metav1.LabelSelector{},
		TopologyKey:       Topology(pod),
	}
}

// replace appends our term, and removes any term that attract added earlier.
func replace(terms *[]corev1.PodAffinityTerm, pod *corev1.Pod, ours corev1.PodAffinityTerm) {
	*terms = append(slices.DeleteFunc(*terms, concerns(pod)), ours)
}

// concerns returns a function that reports whether a term was added by attract.
func concerns(pod *corev1.Pod) func(corev1.PodAffinityTerm) bool {
	return func(t corev1.PodAffinityTerm) bool {
		return t.TopologyKey == Topology(pod) && t.LabelSelector != nil &&
			slices.ContainsFunc(t.LabelSelector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == v1alpha2.JobKey })
	}
}
