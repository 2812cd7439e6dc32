package inject

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

const (
	startupVolume     = "holdfast-startup"
	credentialsVolume = "holdfast-credentials"
	socketVolume      = "holdfast-cri-socket"

	startupDir     = "/holdfast"
	credentialsDir = "/var/run/secrets/holdfast"
	passwordFile   = inplace.SecretPassword
	socketPath     = "/run/containerd/containerd.sock"
)

var volumeNames = []string{startupVolume, credentialsVolume, socketVolume}

// startup holds the agent's start-up file, and the supervisor's program. It is in memory, so that a slow disk holds up no
// restart, and lives as long as the pod.
func startup() corev1.Volume {
	return corev1.Volume{Name: startupVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("64Mi")),
	}}}
}

func startupMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: startupVolume, MountPath: startupDir}
}

// shared are the volumes of both drivers.
func (s Settings) shared() []corev1.Volume {
	if s.StoreSecret == "" {
		return []corev1.Volume{startup()}
	}
	credentials := &corev1.SecretVolumeSource{
		SecretName: s.StoreSecret, Items: []corev1.KeyToPath{{Key: s.StoreSecretKey, Path: passwordFile}},
	}
	if s.StoreTLS {
		credentials.Items = append(credentials.Items, corev1.KeyToPath{Key: inplace.SecretCA, Path: inplace.SecretCA})
	}
	return []corev1.Volume{startup(), {Name: credentialsVolume, VolumeSource: corev1.VolumeSource{Secret: credentials}}}
}

// agentMounts are what an agent needs of them.
func (s Settings) agentMounts() []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{startupMount()}
	if s.StoreSecret != "" {
		mounts = append(mounts, corev1.VolumeMount{Name: credentialsVolume, MountPath: credentialsDir, ReadOnly: true})
	}
	return mounts
}

func socket() corev1.Volume {
	return corev1.Volume{Name: socketVolume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: socketPath, Type: ptr.To(corev1.HostPathSocket),
	}}}
}
