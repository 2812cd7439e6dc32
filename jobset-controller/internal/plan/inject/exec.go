package inject

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

const installerName = "holdfast-install"

// nobody is the user of distroless images.
const nobody = 65532

// addSupervisor makes the supervisor the entry point of the worker's container.
func (s Settings) addSupervisor(pod *corev1.PodSpec, e Entry) {
	pod.InitContainers = append(pod.InitContainers, s.installer(pod.Containers[e.Container].Resources))
	pod.Volumes = append(pod.Volumes, s.shared()...)
	c := &pod.Containers[e.Container]
	c.Command = append(supervisor(pod, e.Progress), c.Command...)
	c.Env = withEnvironment(c.Env, s.environment())
	c.VolumeMounts = append(c.VolumeMounts, s.agentMounts()...)
}

// supervisor is what goes before the worker's command. LOG_LEVEL is a common name for a setting of the worker's own, so a flag
// overrides it.
func supervisor(pod *corev1.PodSpec, progress Progress) []string {
	grace := ptr.Deref(pod.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	command := []string{
		startupDir + "/" + inplace.Supervisor,
		fmt.Sprintf("--pod-termination-grace-period=%ds", grace),
		"--log-level=info",
	}
	return append(append(command, progress.flags()...), "--")
}

// installer copies the supervisor to where the worker's container finds it.
func (s Settings) installer(worker corev1.ResourceRequirements) corev1.Container {
	return corev1.Container{
		Name:            installerName,
		Image:           s.ExecImage,
		Args:            []string{"install", startupDir}, // the image's entry point is the supervisor
		VolumeMounts:    []corev1.VolumeMount{startupMount()},
		Resources:       shareOf(worker),
		SecurityContext: restricted(),
	}
}

// shareOf is what the worker's container asks for of CPU and memory. Init containers are over when the worker starts, so the pod
// as a whole asks for no more than without one, takes no more of a quota, and keeps its quality of service; nor is a
// start held back by a small limit. Devices are left to the worker.
func shareOf(worker corev1.ResourceRequirements) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: computing(worker.Requests), Limits: computing(worker.Limits)}
}

func computing(all corev1.ResourceList) corev1.ResourceList {
	var some corev1.ResourceList
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if amount, ok := all[name]; ok {
			if some == nil {
				some = corev1.ResourceList{}
			}
			some[name] = amount.DeepCopy()
		}
	}
	return some
}

// restricted is what namespaces of the restricted pod security standard ask for.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(true),
		RunAsNonRoot:             ptr.To(true),
		RunAsUser:                ptr.To[int64](nobody),
		RunAsGroup:               ptr.To[int64](nobody),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}
