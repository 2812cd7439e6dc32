package read

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// standing leaves out Failed pods that have been replaced: their controllers keep them, for their logs, beside the pods that run in their
// place. Each newer pod of a place replaces one at most, so that a failure is shown as long as nobody has answered it.
func standing(pods []corev1.Pod) []corev1.Pod {
	places := map[string][]int{}
	for i := range pods {
		if of := place(&pods[i]); of != "" {
			places[of] = append(places[of], i)
		}
	}
	gone := map[int]bool{}
	for _, of := range places {
		for _, i := range replaced(pods, of) {
			gone[i] = true
		}
	}
	var list []corev1.Pod
	for i := range pods {
		if !gone[i] {
			list = append(list, pods[i])
		}
	}
	return list
}

// replaced are those of the pods of one place that failed, each paired with a newer one, both from the newest on.
func replaced(pods []corev1.Pod, of []int) []int {
	slices.SortStableFunc(of, func(a, b int) int { return order(&pods[a], &pods[b]) })
	var gone []int
	newest := len(of) - 1
	for i, index := range slices.Backward(of) {
		if pods[index].Status.Phase == corev1.PodFailed && newest > i && newer(&pods[of[newest]], &pods[index]) {
			gone = append(gone, index)
			newest--
		}
	}
	return gone
}

// order of creation, which is known by the second; of one second, what failed comes first.
func order(a, b *corev1.Pod) int {
	rank := func(p *corev1.Pod) int {
		if p.Status.Phase == corev1.PodFailed {
			return 0
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(rank(a), rank(b)))
}

// newer tells whether a pod can be the replacement of one that failed. Those of Jobs come seconds after the failure; others may come in the
// second of the first pod's creation, if its node has refused it.
func newer(p, failed *corev1.Pod) bool {
	if p.CreationTimestamp.Equal(&failed.CreationTimestamp) {
		ref := metav1.GetControllerOf(p)
		return ref != nil && ref.Kind != jobs.Kind
	}
	return failed.CreationTimestamp.Before(&p.CreationTimestamp)
}

// place is what a pod shares with its replacement: its controller, and its index if it has one. ReplicaSets of one Deployment are one
// controller, as a roll-out leaves Failed pods of the old ones behind. Empty: nobody replaces it.
func place(pod *corev1.Pod) string {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return ""
	}
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; ref.Kind == replicaSets.Kind && hash != "" {
		return deployments.Kind + "/" + strings.TrimSuffix(ref.Name, "-"+hash)
	}
	return string(ref.UID) + "/" + cmp.Or(pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation])
}
