package inject

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const installerName = supervise.InstallerName

// addSupervisor makes the supervisor the entry point of the worker's container.
func (s Settings) addSupervisor(pod *corev1.PodSpec, e Entry, who []corev1.EnvVar) {
	supervisor := supervise.Supervisor{Image: s.ExecImage, Store: s.Store, Identity: who, Flags: append(e.Progress.flags(), s.aloneFlags()...)}
	supervisor.Into(pod, e.Container)
}

// aloneFlags returns the flags that limit how long a worker waits without a leader.
func (s Settings) aloneFlags() []string {
	if s.Alone == 0 {
		return nil
	}
	return []string{"--exit-without-store-after=" + s.Alone.String()}
}
