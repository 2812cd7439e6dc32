// Package inplace reads from a JobSet what in-place restarts need to know of it: which of its pods carry an agent, and
// which slots they make. It is pure.
package inplace

import (
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

// StoreSecret is the name of the Secret with the credentials of a JobSet's agents for the store, in its namespace. It goes by
// the JobSet's name, so that a manifest with an agent by hand can name it.
func StoreSecret(jobSet string) string { return "holdfast-store-" + jobSet }

// JobStoreSecret is the same for a Job that has a group of its own.
func JobStoreSecret(job string) string { return "holdfast-job-store-" + job }

// PodStoreSecret is the same for a group that its pods declare, by the name of the pod of index 0.
func PodStoreSecret(leader string) string { return "holdfast-pod-store-" + leader }
