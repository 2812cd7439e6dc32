package signals

import (
	corev1 "k8s.io/api/core/v1"
)

// Unhealthy returns the signal that the status of a pod fulfils: a device of it is Unhealthy, and the signal is about the
// device's resource. Devices of claims count for signals without resources.
func (t Table) Unhealthy(status *corev1.PodStatus) *Signal {
	for i := range t {
		s := &t[i]
		if !s.PodResourceHealth || s.Effect != Evacuate {
			continue
		}
		for _, list := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
			for _, container := range list {
				if s.holdsUnhealthy(container.AllocatedResourcesStatus) {
					return s
				}
			}
		}
	}
	return nil
}

func (s *Signal) holdsUnhealthy(resources []corev1.ResourceStatus) bool {
	for _, r := range resources {
		if !s.Concerns(map[corev1.ResourceName]bool{r.Name: true}) {
			continue
		}
		for _, device := range r.Resources {
			if device.Health == corev1.ResourceHealthStatusUnhealthy {
				return true
			}
		}
	}
	return false
}
