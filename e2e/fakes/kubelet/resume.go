package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Resume is the life of a pod whose status tells that somebody has played it before: what ran runs on and keeps its restart
// count, what was about to start starts, and what is finished stays so. The back-off begins anew. A pod without containers
// in its status begins.
func Resume(now time.Time, pod *corev1.Pod, shape Shape, rules Rules, random func() float64) *Life {
	l := Begin(now, shape, rules, random)
	reports := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	for i := range l.containers {
		c := &l.containers[i]
		at := slices.IndexFunc(reports, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if at >= 0 {
			c.resume(now, reports[at], finished, rules)
		}
		if c.state == running && shape.SucceedAfter > 0 && !c.Sidecar {
			c.due = c.since.Add(shape.SucceedAfter)
		}
	}
	return l
}

func (c *container) resume(now time.Time, report corev1.ContainerStatus, finished bool, rules Rules) {
	c.restarts = report.RestartCount
	last := report.State.Terminated
	if last == nil {
		last = report.LastTerminationState.Terminated
	}
	if last != nil {
		c.exit = exit{code: last.ExitCode, started: last.StartedAt.Time, at: last.FinishedAt.Time}
	}
	switch {
	case report.State.Running != nil:
		c.state, c.since, c.due = running, report.State.Running.StartedAt.Time, time.Time{}
	case report.State.Terminated != nil && (finished || !c.restartable()):
		c.state, c.due = done, time.Time{}
	case last != nil:
		c.state, c.due = starting, now.Add(rules.RestartDelay)
	}
}
