package supervise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// Names and folders of the volumes.
const (
	StartupVolume     = "holdfast-startup"
	CredentialsVolume = "holdfast-credentials"

	StartupDir     = "/holdfast"
	CredentialsDir = "/var/run/secrets/holdfast"
)

// startup holds the agent's start-up file, and the supervisor's program. It is in memory, so that a slow disk holds up no
// restart, and lives as long as the pod.
func startup() corev1.Volume {
	return corev1.Volume{Name: StartupVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("64Mi")),
	}}}
}

// StartupMount is where containers find the start-up volume.
func StartupMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: StartupVolume, MountPath: StartupDir}
}

// Volumes that an agent needs.
func (s Store) Volumes() []corev1.Volume {
	if s.Secret == "" {
		return []corev1.Volume{startup()}
	}
	credentials := &corev1.SecretVolumeSource{
		SecretName: s.Secret, Items: []corev1.KeyToPath{{Key: s.SecretKey, Path: SecretPassword}},
	}
	if s.TLS {
		credentials.Items = append(credentials.Items, corev1.KeyToPath{Key: SecretCA, Path: SecretCA})
	}
	return []corev1.Volume{startup(), {Name: CredentialsVolume, VolumeSource: corev1.VolumeSource{Secret: credentials}}}
}

// Mounts of them.
func (s Store) Mounts() []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{StartupMount()}
	if s.Secret != "" {
		mounts = append(mounts, corev1.VolumeMount{Name: CredentialsVolume, MountPath: CredentialsDir, ReadOnly: true})
	}
	return mounts
}
