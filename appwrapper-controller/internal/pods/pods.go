// Package pods counts the pods of a workload. It is pure.
package pods

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
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

// Anywhere is the component of a pod that does not say to which it belongs.
const UnknownComponent = -1

// Component is the index of the component that a pod belongs to.
func Component(pod *corev1.Pod) int {
	index, err := strconv.Atoi(pod.Labels[v1beta2.ComponentLabel])
	if err != nil || index < 0 {
		return UnknownComponent
	}
	return index
}

// Requests are the resources of which the pod requests something: in any of its containers, also those that start first, run
// beside it, or were added for debugging.
func Requests(spec *corev1.PodSpec) map[corev1.ResourceName]bool {
	found := map[corev1.ResourceName]bool{}
	add := func(lists ...corev1.ResourceList) {
		for _, list := range lists {
			for name, quantity := range list {
				if !quantity.IsZero() {
					found[name] = true
				}
			}
		}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			add(containers[i].Resources.Requests, containers[i].Resources.Limits)
		}
	}
	if spec.Resources != nil {
		add(spec.Resources.Requests, spec.Resources.Limits)
	}
	return found
}

// ExitCodes are the codes other than 0 with which containers of the pod ended.
func ExitCodes(pod *corev1.Pod) []int32 {
	var codes []int32
	for _, status := range pod.Status.ContainerStatuses {
		if t := status.State.Terminated; t != nil && t.ExitCode != 0 {
			codes = append(codes, t.ExitCode)
		}
	}
	return codes
}

// slot is a place that pods of one owner fill one after the other. Pods without an index all fill the same, with many places.
type slot struct {
	owner types.UID
	index string
}

// indexLabels have the index of a pod among those of its owner.
var indexLabels = []string{
	"batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index", "training.kubeflow.org/replica-index", "replica-index",
}

const replicaTypeLabel = "training.kubeflow.org/replica-type"

func slotOf(pod *corev1.Pod) (slot, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return slot{}, false
	}
	s := slot{owner: owner.UID}
	for _, label := range indexLabels {
		if index, found := pod.Labels[label]; found {
			s.index = pod.Labels[replicaTypeLabel] + "/" + index
			break
		}
	}
	return s, true
}

// Ended is when the pod's containers ended, or its creation if nothing says so.
func Ended(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	for _, status := range pod.Status.ContainerStatuses {
		if t := status.State.Terminated; t != nil && t.FinishedAt.After(at) {
			at = t.FinishedAt.Time
		}
	}
	return at
}

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
