package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Resume returns the life of a pod whose status shows that another process has simulated it before. Running containers
// keep running and keep their restart count, those that were about to start are started, and completed ones stay
// completed. The back-off starts from zero. A pod without container statuses starts from the beginning.
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
