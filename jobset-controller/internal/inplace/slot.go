package inplace

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// SlotOf is the slot that a pod of a JobSet is for, "" if its annotations do not say.
func SlotOf(pod *corev1.Pod) string {
	a := pod.Annotations
	parts := []string{
		a[v1alpha2.JobSetNameKey], a[v1alpha2.ReplicatedJobNameKey], a[v1alpha2.JobIndexKey], a[batchv1.JobCompletionIndexAnnotation],
	}
	for _, part := range parts {
		if part == "" {
			return ""
		}
	}
	return strings.Join(parts, "-")
}

// JobOf is the name of the Job that a slot belongs to, and the slot's completion index; false if it is no slot.
func JobOf(slot string) (job string, index int, ok bool) {
	cut := strings.LastIndexByte(slot, '-')
	if cut < 0 {
		return "", 0, false
	}
	index, err := strconv.Atoi(slot[cut+1:])
	return slot[:cut], index, err == nil
}
