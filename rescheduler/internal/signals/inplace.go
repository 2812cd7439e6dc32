package signals

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// These mark the agents of groups that restart in place: the supervisor in a worker's command, or the flag or variable of the sidecar.
const (
	supervisor = "holdfast-exec"
	agentFlag  = "--worker-jobset-uid"
	agentEnv   = "JOBSET_UID"
)

// InPlace reports whether the pod belongs to a group that restarts in place.
func InPlace(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, isAgent) || slices.ContainsFunc(pod.Spec.Containers, isAgent)
}

func isAgent(c corev1.Container) bool {
	m := Marks(c)
	return len(m.Args)+len(m.Env) > 0
}

// Marks returns the container with only its name, its memory limit and the fields that InPlace reads.
func Marks(c corev1.Container) corev1.Container {
	slim := corev1.Container{Name: c.Name}
	if limit, found := c.Resources.Limits[corev1.ResourceMemory]; found {
		slim.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: limit}
	}
	for _, word := range slices.Concat(c.Command, c.Args) {
		if path.Base(word) == supervisor || strings.HasPrefix(word, agentFlag) {
			slim.Args = append(slim.Args, word)
		}
	}
	for _, e := range c.Env {
		if e.Name == agentEnv {
			slim.Env = append(slim.Env, corev1.EnvVar{Name: e.Name})
		}
	}
	return slim
}
