// Package inplace derives the data for in-place restarts from a JobSet: which of its pods have an agent, and which
// slots they fill. It performs no I/O.
package inplace

import (
	"cmp"
	"path"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const (
	agentFlag = "--worker-jobset-uid"
	agentEnv  = "JOBSET_UID"

	workerFlag = "--worker-container-name"
	workerEnv  = "WORKER_CONTAINER_NAME"
	storeFlag  = "--valkey-address"
	storeEnv   = "VALKEY_ADDRESS"
)

// HasAgent reports whether a pod has an agent. An agent is either a sidecar with the flag or environment variable of
// JobSet KEP-876, or a supervisor in a container's command, possibly wrapped by a shell or an init program.
func HasAgent(pod *corev1.PodSpec) bool {
	return HasSidecar(pod) || slices.ContainsFunc(pod.Containers, isSupervised)
}

// HasSidecar reports whether the agent is a sidecar, which restarts containers, and not a supervisor, which restarts
// processes.
func HasSidecar(pod *corev1.PodSpec) bool {
	return slices.ContainsFunc(pod.InitContainers, isSidecarAgent)
}

func isSidecarAgent(c corev1.Container) bool {
	return hasWord(c, func(word string) bool { return strings.HasPrefix(word, agentFlag) }) ||
		slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == agentEnv })
}

func isSupervised(c corev1.Container) bool {
	return hasWord(c, func(word string) bool { return path.Base(word) == supervise.Program })
}

// hasWord reports whether the command or the arguments contain a matching word. It does not join the two slices,
// because they belong to a cache.
func hasWord(c corev1.Container, is func(string) bool) bool {
	return slices.ContainsFunc(c.Command, is) || slices.ContainsFunc(c.Args, is)
}

// WorkerContainer returns the name of the container that the agent of the pod restarts, or "" if there are several
// candidates and none of them is configured.
func WorkerContainer(pod *corev1.PodSpec) string {
	for _, c := range pod.InitContainers {
		if isSidecarAgent(c) {
			return cmp.Or(setting(c, workerFlag, workerEnv), onlyContainer(pod))
		}
	}
	if i := slices.IndexFunc(pod.Containers, isSupervised); i >= 0 {
		return pod.Containers[i].Name
	}
	return onlyContainer(pod)
}

func onlyContainer(pod *corev1.PodSpec) string {
	if len(pod.Containers) == 1 {
		return pod.Containers[0].Name
	}
	return ""
}

// StoreAddress returns the store address of an agent in the pod, or "" if the pod does not specify it.
func StoreAddress(pod *corev1.PodSpec) string {
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if address := setting(c, storeFlag, storeEnv); address != "" {
			return address
		}
	}
	return ""
}

// setting returns the value of a flag or an environment variable, or "" if it has no literal value.
func setting(c corev1.Container, flag, env string) (value string) {
	for _, v := range c.Env {
		if v.Name == env {
			value = v.Value
		}
	}
	hasWord(c, func(word string) bool {
		given, found := strings.CutPrefix(word, flag+"=")
		if found && !strings.Contains(given, "$(") {
			value = given
		}
		return false
	})
	return value
}

// SlotOf returns the slot of a JobSet's pod, or "" if the pod's annotations do not specify one.
func SlotOf(pod *corev1.Pod) string {
	a := pod.Annotations
	parts := []string{
		a[v1alpha2.JobSetNameKey], a[v1alpha2.ReplicatedJobNameKey], a[v1alpha2.JobIndexKey], a[batchv1.JobCompletionIndexAnnotation],
	}
	if slices.Contains(parts, "") {
		return ""
	}
	return strings.Join(parts, "-")
}

// StoreSecret returns the name of the Secret with the store credentials of a group's agents. The group's owner is a
// JobSet, a Job, or the pod with index 0. The name depends only on the owner's kind and name, so that a manifest that
// includes its own agent can refer to the Secret.
func StoreSecret(kind, owner string) string {
	switch kind {
	case JobKind:
		return "holdfast-job-store-" + owner
	case PodKind:
		return "holdfast-pod-store-" + owner
	}
	return "holdfast-store-" + owner
}
