package replace

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// State is what the pods of one slot say together.
type State int

const (
	// Held: a pod of the slot lives, or may yet.
	Held State = iota
	// Ending: what is left is being deleted, and its worker may still run.
	Ending
	// Finished: the slot's worker has succeeded. What becomes of it is for its Job.
	Finished
	// Lost: there is no pod, or none of which anything runs.
	Lost
)

// StateOf looks at all pods of a slot, whichever Job made them: two workers of one slot never run at the same time. What lives
// wins over what ends, and that over what has finished.
func StateOf(pods []*corev1.Pod) State {
	state := Lost
	for _, pod := range pods {
		state = min(state, stateOf(pod))
	}
	return state
}

func stateOf(pod *corev1.Pod) State {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return Finished
	case Over(pod):
		return Lost
	case pod.DeletionTimestamp.IsZero():
		return Held
	}
	return Ending
}

// Over tells whether nothing of a pod runs any more: its kubelet says so, it had never been given to one, or somebody took it
// away from its kubelet with a grace of nothing.
func Over(pod *corev1.Pod) bool {
	switch {
	case pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		return true
	case pod.DeletionTimestamp.IsZero():
		return false
	}
	return pod.Spec.NodeName == "" || ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0
}

// Outranks tells whether the Job controller would keep another pod of the slot rather than one that was just made and has no node: one that has
// a node, or was made before. Of two of the same second either may stay.
func Outranks(other, made *corev1.Pod) bool {
	if stateOf(other) != Held {
		return false
	}
	return other.Spec.NodeName != "" || other.CreationTimestamp.Before(&made.CreationTimestamp)
}
