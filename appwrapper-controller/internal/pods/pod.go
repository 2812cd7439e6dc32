package pods

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// Anywhere is the component of a pod that does not say to which it belongs.
const Anywhere = -1

// Component is the index of the component that a pod belongs to.
func Component(pod *corev1.Pod) int {
	index, err := strconv.Atoi(pod.Labels[v1beta2.ComponentLabel])
	if err != nil || index < 0 {
		return Anywhere
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
