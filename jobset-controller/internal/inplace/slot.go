// Package inplace reads what in-place restarts need to know about a JobSet: which of its pods have an agent, and which slots they
// fill. It is pure.
package inplace

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// SlotOf returns the slot of a pod of a JobSet, or "" if its annotations do not have it.
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

// StoreSecret returns the name of the Secret, in the JobSet's namespace, with the store credentials of its agents. It depends only
// on the JobSet's name, so that a manifest that brings its own agent can contain it.
func StoreSecret(jobSet string) string { return "holdfast-store-" + jobSet }

// JobStoreSecret does the same for a Job that has its own group.
func JobStoreSecret(job string) string { return "holdfast-job-store-" + job }

// PodStoreSecret does the same for a group that its pods declare, by the name of the pod with index 0.
func PodStoreSecret(leader string) string { return "holdfast-pod-store-" + leader }
