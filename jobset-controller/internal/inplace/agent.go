package inplace

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const (
	agentFlag = "--worker-jobset-uid"
	agentEnv  = "JOBSET_UID"
)

// HasAgent recognises an agent: a sidecar with the seed's flag or its environment variable, or the supervisor in the command
// of a container, be it behind a shell or an init program.
func HasAgent(pod *corev1.PodSpec) bool {
	return slices.ContainsFunc(pod.InitContainers, isSidecarAgent) || slices.ContainsFunc(pod.Containers, isSupervised)
}

// HasSidecar tells whether the agent restarts containers, from outside of them. Otherwise it restarts processes.
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

// hasWord looks through command and arguments without joining them: the slices belong to a cache.
func hasWord(c corev1.Container, is func(string) bool) bool {
	return slices.ContainsFunc(c.Command, is) || slices.ContainsFunc(c.Args, is)
}
