package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status returns the status that the kubelet reports. It leaves out conditions that others own; the caller merges by
// type.
func (l *Life) Status(pod *corev1.Pod, now time.Time, addresses Addresses) corev1.PodStatus {
	status := corev1.PodStatus{
		Phase:      l.Phase(),
		HostIP:     addresses.Host,
		HostIPs:    []corev1.HostIP{{IP: addresses.Host}},
		PodIP:      addresses.Pod,
		PodIPs:     []corev1.PodIP{{IP: addresses.Pod}},
		StartTime:  pod.Status.StartTime,
		Conditions: l.conditions(pod, now),
	}
	if status.StartTime == nil {
		status.StartTime = &metav1.Time{Time: now}
	}
	for _, c := range pod.Spec.InitContainers {
		if !isSidecar(c) {
			status.InitContainerStatuses = append(status.InitContainerStatuses, completed(c, status.StartTime))
		}
	}
	images := images(pod)
	for i := range l.containers {
		c := &l.containers[i]
		report := c.status(images[c.Name])
		if c.Sidecar {
			status.InitContainerStatuses = append(status.InitContainerStatuses, report)
		} else {
			status.ContainerStatuses = append(status.ContainerStatuses, report)
		}
	}
	return status
}

// Addresses are the IP addresses of a pod and of its node.
type Addresses struct{ Host, Pod string }

func (l *Life) conditions(pod *corev1.Pod, now time.Time) []corev1.PodCondition {
	up, running := true, true
	for i := range l.containers {
		up = up && l.containers[i].state != created
		running = running && l.containers[i].reportedRunning()
	}
	conditions := []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: truth(!l.gone)},
		{Type: corev1.PodInitialized, Status: truth(up)},
		{Type: corev1.ContainersReady, Status: truth(running)},
		{Type: corev1.PodReady, Status: truth(running)},
	}
	for i := range conditions {
		keepTransition(&conditions[i], pod.Status.Conditions, now)
	}
	return conditions
}

// keepTransition keeps the transition time of a condition whose status has not changed.
func keepTransition(condition *corev1.PodCondition, before []corev1.PodCondition, now time.Time) {
	condition.LastTransitionTime = metav1.NewTime(now)
	for _, old := range before {
		if old.Type == condition.Type && old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
	}
}

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// reportedRunning includes an exit that the kubelet has not noticed yet.
func (c *container) reportedRunning() bool { return c.state == running || c.state == exited }

func (c *container) status(image string) corev1.ContainerStatus {
	up := c.reportedRunning()
	status := corev1.ContainerStatus{
		Name: c.Name, Image: image, ImageID: image, RestartCount: c.restarts, Ready: up, Started: &up,
	}
	switch c.state {
	case running, exited:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.since)}
		if c.restarts > 0 && c.state == running {
			status.LastTerminationState.Terminated = c.exit.terminated()
		}
	case created:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	case backingOff:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
		status.LastTerminationState.Terminated = c.exit.terminated()
	case starting, done:
		status.State.Terminated = c.exit.terminated()
	}
	return status
}

func (e exit) terminated() *corev1.ContainerStateTerminated {
	reason := "Completed"
	if e.code != 0 {
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{
		ExitCode: e.code, Reason: reason, StartedAt: metav1.NewTime(e.started), FinishedAt: metav1.NewTime(e.at),
	}
}

func completed(c corev1.Container, at *metav1.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: true,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Completed", StartedAt: *at, FinishedAt: *at,
		}},
	}
}

func images(pod *corev1.Pod) map[string]string {
	names := map[string]string{}
	for _, c := range append(pod.Spec.InitContainers[:len(pod.Spec.InitContainers):len(pod.Spec.InitContainers)], pod.Spec.Containers...) {
		names[c.Name] = c.Image
	}
	return names
}
