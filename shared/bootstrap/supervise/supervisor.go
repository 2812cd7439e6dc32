package supervise

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

const (
	// Program is the name of the supervisor.
	Program = "holdfast-exec"
	// InstallerName is that of the init container which brings it.
	InstallerName = "holdfast-install"
)

// nobody is the user of distroless images.
const nobody = 65532

// Supervisor is what a worker's container gets.
type Supervisor struct {
	Image string
	Store Store
	// Identity tells it whose worker it has.
	Identity []corev1.EnvVar
	// Flags of it beside those that follow from the pod.
	Flags []string
}

// Into makes the supervisor the entry point of a container, given by its index. The container must have a command: that of its image
// is not known.
func (s Supervisor) Into(pod *corev1.PodSpec, container int) {
	pod.InitContainers = append(pod.InitContainers, s.installer(pod.Containers[container].Resources))
	pod.Volumes = append(pod.Volumes, s.Store.Volumes()...)
	c := &pod.Containers[container]
	c.Command = append(s.command(pod), c.Command...)
	c.Env = WithEnvironment(c.Env, append(s.Identity, s.Store.Environment()...))
	c.VolumeMounts = append(c.VolumeMounts, s.Store.Mounts()...)
}

// command is what goes before the worker's. LOG_LEVEL is a common name for a setting of the worker's own, so a flag overrides it.
func (s Supervisor) command(pod *corev1.PodSpec) []string {
	grace := ptr.Deref(pod.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	command := []string{
		StartupDir + "/" + Program,
		fmt.Sprintf("--pod-termination-grace-period=%ds", grace),
		"--log-level=info",
	}
	return append(append(command, s.Flags...), "--")
}

// installer copies the supervisor to where the worker's container finds it.
func (s Supervisor) installer(worker corev1.ResourceRequirements) corev1.Container {
	return corev1.Container{
		Name:            InstallerName,
		Image:           s.Image,
		Args:            []string{"install", StartupDir}, // the image's entry point is the supervisor
		VolumeMounts:    []corev1.VolumeMount{StartupMount()},
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

// FromField is a variable of the downward API.
func FromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// WithEnvironment adds the variables that are not there yet.
func WithEnvironment(have, add []corev1.EnvVar) []corev1.EnvVar {
	known := make(map[string]bool, len(have))
	for _, v := range have {
		known[v.Name] = true
	}
	for _, v := range add {
		if !known[v.Name] {
			have = append(have, v)
		}
	}
	return have
}

// Variables by which agents find the store, as the manifest of seed 000 names them, and their folder.
const (
	EnvStoreAddress  = "VALKEY_ADDRESS"
	EnvStoreUsername = "VALKEY_USERNAME"
	EnvStorePassword = "VALKEY_PASSWORD_FILE"
	EnvStoreCA       = "VALKEY_TLS_CA_FILE"
	EnvStoreServer   = "VALKEY_TLS_SERVER_NAME"
	EnvStartupDir    = "STARTUP_DIR"
)

// Keys of a group's Secret for the store, which are also the names of its files.
const (
	SecretUsername = "username"
	SecretPassword = "password"
	SecretCA       = "ca.crt" // what the store's certificate is checked against, if the store speaks TLS
)

// ElasticSecret is the name of the Secret with the credentials of an ElasticJob's agents, in its namespace. Those of JobSets have other
// names.
func ElasticSecret(job string) string { return "holdfast-elastic-store-" + job }

// Store is how the agents of a pod reach the store.
type Store struct {
	// Address is host:port, as pods reach it.
	Address string
	// Username is the ACL user; empty is the default user.
	Username string
	// Secret names a Secret in the pod's namespace that holds the password under SecretKey; empty means none.
	Secret, SecretKey string
	// TLS: the Secret also holds what the store's certificate is checked against, under SecretCA.
	TLS bool
	// ServerName is whom the certificate is for; empty is the host of the address.
	ServerName string
}

// Environment by which an agent finds the store and its folder.
func (s Store) Environment() []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: EnvStoreAddress, Value: s.Address}, {Name: EnvStartupDir, Value: StartupDir}}
	if s.Username != "" {
		env = append(env, corev1.EnvVar{Name: EnvStoreUsername, Value: s.Username})
	}
	if s.Secret != "" {
		env = append(env, corev1.EnvVar{Name: EnvStorePassword, Value: CredentialsDir + "/" + SecretPassword})
	}
	if s.TLS {
		env = append(env, corev1.EnvVar{Name: EnvStoreCA, Value: CredentialsDir + "/" + SecretCA})
	}
	if s.TLS && s.ServerName != "" {
		env = append(env, corev1.EnvVar{Name: EnvStoreServer, Value: s.ServerName})
	}
	return env
}

// Reserved are the variables of Environment, whatever the store.
func Reserved() []corev1.EnvVar {
	var list []corev1.EnvVar
	for _, name := range []string{EnvStoreAddress, EnvStoreUsername, EnvStorePassword, EnvStoreCA, EnvStoreServer, EnvStartupDir} {
		list = append(list, corev1.EnvVar{Name: name})
	}
	return list
}

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
