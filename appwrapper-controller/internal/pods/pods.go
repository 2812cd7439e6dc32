// Package pods counts the pods of a workload. It performs no I/O.
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

// Count is the number of pods of a workload or component in each state. A pod that is being deleted counts only as terminating, because
// someone has already acted on it.
type Count struct {
	Pending, Running, Succeeded int32
	// Failed pods that have not been replaced.
	Failed int32
	// Terminating pods that have not succeeded.
	Terminating int32
}

// Exist returns the number of pods that count toward the workload. This includes terminating pods, because some controllers replace a pod
// only after it has terminated.
func (c Count) Exist() int32 { return c.Pending + c.Running + c.Succeeded + c.Terminating }

func (c Count) Ready() int32 { return c.Running + c.Succeeded }

type Summary struct {
	All Count
	// ByComponent counts the pods of each component. Pods without a component are under UnknownComponent.
	ByComponent map[int]Count
	// Failed pods that have not been replaced, oldest first.
	Failed []*corev1.Pod
	// Progress is when a pod last succeeded, or when the oldest pending pod was created if that is later. Such a pending pod follows another
	// pod that succeeded and may have been deleted since. Progress is zero if there is neither.
	Progress time.Time
}

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

// ExitCodes returns the distinct nonzero exit codes of the failed pods in ascending order.
func (s Summary) ExitCodes() []int32 {
	var codes []int32
	for _, pod := range s.Failed {
		for _, status := range pod.Status.ContainerStatuses {
			if t := status.State.Terminated; t != nil && t.ExitCode != 0 {
				codes = append(codes, t.ExitCode)
			}
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// UnknownComponent is the component of a pod without the component label.
const UnknownComponent = -1

// Component returns the index of the component that a pod belongs to.
func Component(pod *corev1.Pod) int {
	index, err := strconv.Atoi(pod.Labels[v1beta2.ComponentLabel])
	if err != nil || index < 0 {
		return UnknownComponent
	}
	return index
}

// Requests returns the resources that the pod requests in any container, including init containers and sidecars.
func Requests(spec *corev1.PodSpec) map[corev1.ResourceName]bool {
	var lists []corev1.ResourceList
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		lists = append(lists, c.Resources.Requests, c.Resources.Limits)
	}
	if spec.Resources != nil {
		lists = append(lists, spec.Resources.Requests, spec.Resources.Limits)
	}
	found := map[corev1.ResourceName]bool{}
	for _, list := range lists {
		for name, quantity := range list {
			if !quantity.IsZero() {
				found[name] = true
			}
		}
	}
	return found
}

// slot is the position that a pod and its replacements fill. Pods without an index share one slot per owner.
type slot struct {
	owner types.UID
	index string
}

// indexLabels hold the index of a pod within its owner.
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

// Ended returns when the pod's last container terminated, or when the pod was created if none has.
func Ended(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	for _, status := range pod.Status.ContainerStatuses {
		if t := status.State.Terminated; t != nil && t.FinishedAt.After(at) {
			at = t.FinishedAt.Time
		}
	}
	return at
}

// unreplaced returns the failed pods without a replacement. A replacement is a newer pod that has the same owner and, if present, the same
// index, and is running or has succeeded. Without an index each replacement accounts for one failed pod; with an index, for all earlier
// ones. Owners such as Jobs keep failed pods for their logs, and are healthy once those pods are replaced.
func unreplaced(failed, alive []*corev1.Pod) []*corev1.Pod {
	if len(failed) == 0 {
		return nil
	}
	substitutes := map[slot][]*corev1.Pod{} // oldest first
	for _, pod := range slices.SortedFunc(slices.Values(alive), older) {
		if s, owned := slotOf(pod); owned {
			substitutes[s] = append(substitutes[s], pod)
		}
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

// newer reports whether other may be the replacement of failed. Creation times are rounded to whole seconds, so they may be equal. A
// replacement is never created before the pod failed.
func newer(other, failed *corev1.Pod) bool {
	if !other.CreationTimestamp.Time.Equal(failed.CreationTimestamp.Time) {
		return other.CreationTimestamp.After(failed.CreationTimestamp.Time)
	}
	return !other.CreationTimestamp.Time.Before(Ended(failed))
}

func older(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}
