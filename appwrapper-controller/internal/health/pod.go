package health

import corev1 "k8s.io/api/core/v1"

// pod: one that has failed is a failed pod, which is a matter of the pods, not of components.
func pod(p *corev1.Pod) Report {
	if p.Status.Phase == corev1.PodSucceeded {
		return Report{State: Complete}
	}
	return Report{State: Active}
}
