package inject

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const (
	sidecarName = "holdfast-agent"
	// readyPort is an unusual port, because the containers of a pod share its ports.
	readyPort = 28080
)

// addSidecar adds the sidecar of JobSet KEP-876. The worker reads its restart count from round.env on the startup volume.
func (s Settings) addSidecar(pod *corev1.PodSpec, worker int, who []corev1.EnvVar) {
	c := &pod.Containers[worker]
	pod.InitContainers = append(pod.InitContainers, s.sidecar(c.Name, who))
	pod.Volumes = append(append(pod.Volumes, s.Store.Volumes()...), socket())
	round := supervise.StartupMount()
	round.ReadOnly = true
	c.VolumeMounts = append(c.VolumeMounts, round)
}

func (s Settings) sidecar(worker string, who []corev1.EnvVar) corev1.Container {
	return corev1.Container{
		Name:          sidecarName,
		Image:         s.AgentImage,
		RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Env: append(append(who, s.Store.Environment()...),
			corev1.EnvVar{Name: envContainer, Value: worker},
			corev1.EnvVar{Name: envReadyPort, Value: strconv.Itoa(readyPort)},
		),
		VolumeMounts:    append(s.Store.Mounts(), corev1.VolumeMount{Name: socketVolume, MountPath: socketPath}),
		SecurityContext: privileged(),
		StartupProbe:    agentIsReady(),
	}
}

// privileged returns the security context that access to the container runtime's socket needs, whatever the pod sets for its other
// containers.
func privileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		Privileged: ptr.To(true), RunAsNonRoot: ptr.To(false), RunAsUser: ptr.To[int64](0), RunAsGroup: ptr.To[int64](0),
	}
}

// agentIsReady returns a startup probe that delays the worker until its agent is ready. With the default period of ten seconds,
// each pod would be delayed by that long.
func agentIsReady() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(readyPort)}},
		PeriodSeconds: 1, FailureThreshold: 60,
	}
}
