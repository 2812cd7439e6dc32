package inplace

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	agentFlag  = "--worker-jobset-uid"
	agentEnv   = "JOBSET_UID"
	supervisor = "holdfast-exec"
)

// Stages are the slots of a JobSet's group: the replicated jobs whose pods carry an agent and that have any pods.
func Stages(js *v1alpha2.JobSet) []coordination.Stage {
	var stages []coordination.Stage
	for i := range js.Spec.ReplicatedJobs {
		entry := &js.Spec.ReplicatedJobs[i]
		stage := coordination.Stage{Prefix: js.Name + "-" + entry.Name, Jobs: int64(entry.Replicas), Pods: podsOf(entry)}
		if HasAgent(&entry.Template.Spec.Template.Spec) && stage.Slots() > 0 {
			stages = append(stages, stage)
		}
	}
	return stages
}

// podsOf is how many pods of one Job run at a time.
func podsOf(entry *v1alpha2.ReplicatedJob) int64 {
	parallelism := ptr.Deref(entry.Template.Spec.Parallelism, 1)
	return int64(min(parallelism, ptr.Deref(entry.Template.Spec.Completions, parallelism)))
}

// HasAgent recognises an agent: a sidecar with the seed's flag or its environment variable, or the supervisor as the
// entry point of a container.
func HasAgent(pod *corev1.PodSpec) bool {
	for i := range pod.InitContainers {
		if isSidecarAgent(&pod.InitContainers[i]) {
			return true
		}
	}
	for i := range pod.Containers {
		if isSupervised(&pod.Containers[i]) {
			return true
		}
	}
	return false
}

func isSidecarAgent(c *corev1.Container) bool {
	for _, arg := range append(c.Command, c.Args...) {
		if strings.HasPrefix(arg, agentFlag) {
			return true
		}
	}
	for _, env := range c.Env {
		if env.Name == agentEnv {
			return true
		}
	}
	return false
}

func isSupervised(c *corev1.Container) bool {
	for _, words := range [][]string{c.Command, c.Args} {
		if len(words) > 0 && strings.HasSuffix(words[0], supervisor) {
			return true
		}
	}
	return false
}
