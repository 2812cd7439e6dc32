package ladder

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Lost tells whether a pod that still exists can never again run its worker though that is needed: it has failed, it was taken
// from its kubelet by force, or its worker exited 0 because the pod was being deleted. A worker that finished before the deletion
// has finished.
func Lost(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodFailed:
		return true
	case corev1.PodSucceeded:
		return stoppedByDeletion(pod)
	}
	return !pod.DeletionTimestamp.IsZero() && ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0
}

// LostWhenGone is Lost for a pod that has gone from the API: only a worker that had finished by itself leaves no gap.
func LostWhenGone(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded || stoppedByDeletion(pod)
}

// stoppedByDeletion: a container ended after the deletion was asked for, which is the deletion's time less its grace.
func stoppedByDeletion(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp.IsZero() {
		return false
	}
	asked := pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		asked = asked.Add(-time.Duration(*grace) * time.Second)
	}
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil && !t.FinishedAt.Time.Before(asked) {
			return true
		}
	}
	return false
}
