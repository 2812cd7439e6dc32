package inject

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const (
	socketVolume = "holdfast-cri-socket"

	startupDir     = supervise.StartupDir
	credentialsDir = supervise.CredentialsDir
	socketPath     = "/run/containerd/containerd.sock"
)

var volumeNames = []string{supervise.StartupVolume, supervise.CredentialsVolume, socketVolume}

func socket() corev1.Volume {
	return corev1.Volume{Name: socketVolume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: socketPath, Type: ptr.To(corev1.HostPathSocket),
	}}}
}
