package inject

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const installerName = supervise.InstallerName

// addSupervisor makes the supervisor the entry point of the worker's container. With spares, the worker can run in any slot of its replicatedJob.
func (s Settings) addSupervisor(pod *corev1.PodSpec, e Entry, who []corev1.EnvVar, first First) {
	supervisor := supervise.Supervisor{Image: s.ExecImage, Store: s.Store, Identity: who, Flags: append(e.Progress.flags(), s.aloneFlags()...)}
	if e.Spares > 0 {
		supervisor.Identity = append(supervisor.Identity, ownIdentity(first)...)
		supervisor.Flags = append(supervisor.Flags, flagOwnID)
	}
	supervisor.Into(pod, e.Container)
	if e.Spares > 0 {
		takeAnySlot(&pod.Containers[e.Container])
	}
}

// aloneFlags returns the flags that limit how long a worker waits without a leader.
func (s Settings) aloneFlags() []string {
	if s.Alone == 0 {
		return nil
	}
	return []string{"--exit-without-store-after=" + s.Alone.String()}
}
