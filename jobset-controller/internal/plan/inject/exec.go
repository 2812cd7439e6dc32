package inject

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const installerName = supervise.InstallerName

// addSupervisor makes the supervisor the replicatedJob point of the worker's container.
func (s Settings) addSupervisor(pod *corev1.PodSpec, e Entry) {
	supervisor := supervise.Supervisor{Image: s.ExecImage, Store: s.Store, Identity: identity(), Flags: e.Progress.flags()}
	supervisor.Into(pod, e.Container)
}
