package pods

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Count is how many pods of a workload, or of one of its components, are in which state. Pods that are being deleted are counted
// as such and nothing else: whoever deleted them has reacted.
type Count struct {
	Pending, Running, Succeeded int32
	// Failed pods that nobody has replaced.
	Failed int32
	// Terminating pods of any phase that is not finished, and failed ones that are on their way out.
	Terminating int32
}

// Exist are those that are there for the workload.
func (c Count) Exist() int32 { return c.Pending + c.Running + c.Succeeded }

// Ready are those that run, or have no need to any more.
func (c Count) Ready() int32 { return c.Running + c.Succeeded }

// Summary of the pods of a workload.
type Summary struct {
	All Count
	// ByComponent has the pods that say to which component they belong, and those of Anywhere.
	ByComponent map[int]Count
	// Failed pods that nobody has replaced, oldest first.
	Failed []*corev1.Pod
	// Progress is when a pod succeeded last, or when the oldest pod was created that does not run yet: that was for one that had succeeded, and
	// may have been deleted. Zero if there is neither.
	Progress time.Time
}

// Summarize counts the pods.
func Summarize(list []*corev1.Pod) Summary {
	s := Summary{ByComponent: map[int]Count{}}
	var failed, alive []*corev1.Pod
	var waiting time.Time
	for _, pod := range list {
		gone := !pod.DeletionTimestamp.IsZero()
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			s.add(pod, func(c *Count) { c.Succeeded++ })
			alive = append(alive, pod)
			if ended := Ended(pod); ended.After(s.Progress) {
				s.Progress = ended
			}
		case gone:
			s.add(pod, func(c *Count) { c.Terminating++ })
		case pod.Status.Phase == corev1.PodFailed:
			failed = append(failed, pod)
		case pod.Status.Phase == corev1.PodRunning:
			s.add(pod, func(c *Count) { c.Running++ })
			alive = append(alive, pod)
		case pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "":
			s.add(pod, func(c *Count) { c.Pending++ })
			if created := pod.CreationTimestamp.Time; waiting.IsZero() || created.Before(waiting) {
				waiting = created
			}
		}
	}
	if waiting.After(s.Progress) {
		s.Progress = waiting
	}
	s.Failed = unreplaced(failed, alive)
	for _, pod := range s.Failed {
		s.add(pod, func(c *Count) { c.Failed++ })
	}
	return s
}

func (s *Summary) add(pod *corev1.Pod, count func(*Count)) {
	count(&s.All)
	index := Component(pod)
	c := s.ByComponent[index]
	count(&c)
	s.ByComponent[index] = c
}

// ExitCodes of the failed pods, each once, sorted.
func (s Summary) ExitCodes() []int32 {
	var codes []int32
	for _, pod := range s.Failed {
		codes = append(codes, ExitCodes(pod)...)
	}
	slices.SortFunc(codes, cmp.Compare[int32])
	return slices.Compact(codes)
}
