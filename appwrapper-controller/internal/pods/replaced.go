package pods

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// unreplaced returns the failed pods that their owner has not replaced yet. A replacement is a newer pod of the same owner, and of
// the same index if there is one, that runs or has succeeded; each makes good for one failed pod if there is no index, and for all
// earlier ones of an index. Owners that keep failed pods for their logs, such as Jobs, are healthy again then.
func unreplaced(failed, alive []*corev1.Pod) []*corev1.Pod {
	if len(failed) == 0 {
		return nil
	}
	substitutes := map[slot][]*corev1.Pod{}
	for _, pod := range alive {
		if s, owned := slotOf(pod); owned {
			substitutes[s] = append(substitutes[s], pod)
		}
	}
	for _, list := range substitutes {
		slices.SortFunc(list, older)
	}
	failed = slices.SortedFunc(slices.Values(failed), older)
	return slices.DeleteFunc(failed, func(pod *corev1.Pod) bool {
		s, owned := slotOf(pod)
		if !owned {
			return false
		}
		list := substitutes[s]
		i := slices.IndexFunc(list, func(other *corev1.Pod) bool { return newer(other, pod) })
		if i < 0 {
			return false
		}
		if s.index == "" {
			substitutes[s] = slices.Delete(list, i, i+1)
		}
		return true
	})
}

// newer: times have whole seconds, so that a replacement may seem to be as old as what it replaces; it was not created before that
// failed.
func newer(other, failed *corev1.Pod) bool {
	if !other.CreationTimestamp.Time.Equal(failed.CreationTimestamp.Time) {
		return other.CreationTimestamp.After(failed.CreationTimestamp.Time)
	}
	return !other.CreationTimestamp.Time.Before(Ended(failed))
}

func older(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}
