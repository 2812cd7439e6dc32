package exclusive

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// attract restricts the pod to domains that have no exclusively placed pod of another Job and, if its own Job runs anywhere, to
// that Job's domain. Pods of another priority are ignored, so that the scheduler may preempt them.
func attract(pod *corev1.Pod) {
	own := pod.Labels[v1alpha2.JobKey]
	same := term(pod, metav1.LabelSelectorRequirement{Key: v1alpha2.JobKey, Operator: metav1.LabelSelectorOpIn, Values: []string{own}})
	others := term(pod,
		metav1.LabelSelectorRequirement{Key: v1alpha2.JobKey, Operator: metav1.LabelSelectorOpExists},
		metav1.LabelSelectorRequirement{Key: v1alpha2.JobKey, Operator: metav1.LabelSelectorOpNotIn, Values: []string{own}},
		metav1.LabelSelectorRequirement{Key: v1alpha2.PriorityKey, Operator: metav1.LabelSelectorOpIn, Values: []string{priority(pod)}},
	)
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	a := pod.Spec.Affinity
	if a.PodAffinity == nil {
		a.PodAffinity = &corev1.PodAffinity{}
	}
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	replace(&a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, pod, same)
	replace(&a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, pod, others)
}

// term returns an affinity term for all namespaces, because a domain is exclusive in the whole cluster.
func term(pod *corev1.Pod, requirements ...metav1.LabelSelectorRequirement) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		LabelSelector:     &metav1.LabelSelector{MatchExpressions: requirements},
		NamespaceSelector: &metav1.LabelSelector{},
		TopologyKey:       Topology(pod),
	}
}

// replace appends our term and removes an earlier one of ours.
func replace(terms *[]corev1.PodAffinityTerm, pod *corev1.Pod, ours corev1.PodAffinityTerm) {
	*terms = append(slices.DeleteFunc(*terms, concerns(pod)), ours)
}

// concerns returns a function that recognizes the terms of attract.
func concerns(pod *corev1.Pod) func(corev1.PodAffinityTerm) bool {
	return func(t corev1.PodAffinityTerm) bool {
		return t.TopologyKey == Topology(pod) && t.LabelSelector != nil &&
			slices.ContainsFunc(t.LabelSelector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == v1alpha2.JobKey })
	}
}
