// Package supervise adds the exec driver's supervisor to pods: the installer, volumes, command and environment. Callers decide which
// pods get a supervisor. The package is pure.
package supervise

import (
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

const (
	// Program is the name of the supervisor.
	Program = "holdfast-exec"
	// InstallerName is the name of the init container that installs the supervisor.
	InstallerName = "holdfast-install"
)

// nobody is the ID of the nonroot user in distroless images.
const nobody = 65532

// Supervisor describes the supervisor to add to a worker's container.
type Supervisor struct {
	Image string
	Store Store
	// Identity holds the environment variables that identify the worker.
	Identity []corev1.EnvVar
	// Flags are flags in addition to those derived from the pod.
	Flags []string
}

// Into makes the supervisor the entry point of the container with the given index. The container must have a command, because the command
// in its image is unknown.
func (s Supervisor) Into(pod *corev1.PodSpec, container int) {
	pod.InitContainers = append(pod.InitContainers, s.installer(pod.Containers[container].Resources))
	pod.Volumes = append(pod.Volumes, s.Store.Volumes()...)
	c := &pod.Containers[container]
	c.Command = append(s.command(pod), c.Command...)
	c.Env = WithEnvironment(c.Env, append(s.Identity, s.Store.Environment()...))
	c.VolumeMounts = append(c.VolumeMounts, s.Store.Mounts()...)
}

// command returns the arguments before the worker's command. --log-level overrides LOG_LEVEL, which workers often set for their own
// use.
func (s Supervisor) command(pod *corev1.PodSpec) []string {
	grace := ptr.Deref(pod.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	command := []string{
		StartupDir + "/" + Program,
		fmt.Sprintf("--pod-termination-grace-period=%ds", grace),
		"--log-level=info",
	}
	return append(append(command, s.Flags...), "--")
}

// installer copies the supervisor into the startup volume. It has the worker's CPU and memory requests and limits: because init containers
// finish before the worker starts, the pod requests no more than it would without the installer and keeps its QoS class, and small limits do
// not slow down its start. Devices are left to the worker.
func (s Supervisor) installer(worker corev1.ResourceRequirements) corev1.Container {
	return corev1.Container{
		Name:            InstallerName,
		Image:           s.Image,
		Args:            []string{"install", StartupDir}, // the image's entry point is the supervisor
		VolumeMounts:    []corev1.VolumeMount{StartupMount()},
		Resources:       corev1.ResourceRequirements{Requests: computing(worker.Requests), Limits: computing(worker.Limits)},
		SecurityContext: Restricted(),
	}
}

func computing(all corev1.ResourceList) corev1.ResourceList {
	some := all.DeepCopy()
	maps.DeleteFunc(some, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return name != corev1.ResourceCPU && name != corev1.ResourceMemory
	})
	return some
}

// Restricted returns the security context required by the restricted Pod Security Standard.
func Restricted() *corev1.SecurityContext {
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

// FromField returns an environment variable from the downward API.
func FromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// WithEnvironment adds environment variables that are missing.
func WithEnvironment(have, add []corev1.EnvVar) []corev1.EnvVar {
	known := have
	for _, v := range add {
		if !slices.ContainsFunc(known, func(k corev1.EnvVar) bool { return k.Name == v.Name }) {
			have = append(have, v)
		}
	}
	return have
}

// Environment variables of agents: the store and the startup folder.
const (
	EnvStoreAddress  = "VALKEY_ADDRESS"
	EnvStoreUsername = "VALKEY_USERNAME"
	EnvStorePassword = "VALKEY_PASSWORD_FILE"
	EnvStoreCA       = "VALKEY_TLS_CA_FILE"
	EnvStoreServer   = "VALKEY_TLS_SERVER_NAME"
	EnvStartupDir    = "STARTUP_DIR"
)

// Keys of a group's store Secret, which are also file names.
const (
	SecretUsername = "username"
	SecretPassword = "password"
	SecretCA       = "ca.crt" // CA of the store's certificate, if the store uses TLS
)

// ElasticSecret returns the name of the Secret with the store credentials of an ElasticJob's agents. Secrets of JobSets have other names.
func ElasticSecret(job string) string { return "holdfast-elastic-store-" + job }

// Store describes how a pod's agents connect to the store. Its fields are part of the agents section in a manager's configuration file.
type Store struct {
	// Address is host:port as seen from pods.
	Address string `json:"storeAddress,omitempty"`
	// Username is the ACL user; empty is the default user.
	Username string `json:"storeUsername,omitempty"`
	// Secret names a Secret in the pod's namespace that holds the password under SecretKey; empty means no password.
	Secret    string `json:"storeSecret,omitempty"`
	SecretKey string `json:"storeSecretKey,omitempty"`
	// TLS means that the Secret also holds the CA of the store's certificate, under SecretCA.
	TLS bool `json:"storeTLS,omitempty"`
	// ServerName is the name in the certificate; empty means the host in the address.
	ServerName string `json:"storeTLSServerName,omitempty"`
}

// Environment returns the environment variables for the store and the startup folder.
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

// Reserved returns all environment variables that Environment may set.
func Reserved() []corev1.EnvVar {
	var list []corev1.EnvVar
	for _, name := range []string{EnvStoreAddress, EnvStoreUsername, EnvStorePassword, EnvStoreCA, EnvStoreServer, EnvStartupDir} {
		list = append(list, corev1.EnvVar{Name: name})
	}
	return list
}

// Names and mount paths of the volumes.
const (
	StartupVolume     = "holdfast-startup"
	CredentialsVolume = "holdfast-credentials"

	StartupDir     = "/holdfast"
	CredentialsDir = "/var/run/secrets/holdfast"
)

// startup returns the volume for the supervisor and the agent's startup file. It is in memory, so that a slow disk does not delay
// restarts, and has the lifetime of the pod.
func startup() corev1.Volume {
	return corev1.Volume{Name: StartupVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("64Mi")),
	}}}
}

// StartupMount returns the mount of the startup volume.
func StartupMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: StartupVolume, MountPath: StartupDir}
}

// Volumes returns the volumes that an agent needs.
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

// Mounts returns the mounts for the volumes from Volumes.
func (s Store) Mounts() []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{StartupMount()}
	if s.Secret != "" {
		mounts = append(mounts, corev1.VolumeMount{Name: CredentialsVolume, MountPath: CredentialsDir, ReadOnly: true})
	}
	return mounts
}

// AddPullSecrets adds the named Secrets to the pod's image pull secrets. They are needed if the agent's image is in a registry that the pod's
// author does not know about.
func AddPullSecrets(pod *corev1.PodSpec, names []string) {
	for _, name := range names {
		secret := corev1.LocalObjectReference{Name: name}
		if !slices.Contains(pod.ImagePullSecrets, secret) {
			pod.ImagePullSecrets = append(pod.ImagePullSecrets, secret)
		}
	}
}

// Conflict returns an error if the pod already uses one of the supervisor's mount paths or names, or one of the names in others. path is the
// path to the pod's spec, and container is the index of the worker's container.
func Conflict(pod *corev1.PodSpec, path *field.Path, container int, others ...string) *field.Error {
	names := append(others, InstallerName, StartupVolume, CredentialsVolume)
	for i, c := range pod.InitContainers {
		if slices.Contains(names, c.Name) {
			return field.Duplicate(path.Child("initContainers").Index(i).Child("name"), c.Name)
		}
	}
	for i, v := range pod.Volumes {
		if slices.Contains(names, v.Name) {
			return field.Duplicate(path.Child("volumes").Index(i).Child("name"), v.Name)
		}
	}
	for i, m := range pod.Containers[container].VolumeMounts {
		if m.MountPath == StartupDir || m.MountPath == CredentialsDir {
			return field.Duplicate(path.Child("containers").Index(container).Child("volumeMounts").Index(i).Child("mountPath"), m.MountPath)
		}
	}
	return nil
}

// Flags registers the flags of a manager that adds agents to the pods of a kind of workload: the store, whether each workload has its own
// store user, and the supervisor's image.
func Flags(set *pflag.FlagSet, store *Store, acl *bool, image *string, kind string) {
	set.StringVar(&store.Address, FlagStoreAddress, "", "host:port at which pods reach Valkey or Redis 7; if empty, no agents are added to pods")
	set.StringVar(&store.Username, FlagStoreUsername, "", "ACL user of the agents")
	set.StringVar(&store.Secret, FlagStoreSecret, "", "Secret with the agents' password, in the namespace of the "+kind)
	set.StringVar(&store.SecretKey, FlagStoreSecretKey, SecretPassword, "key of the password in that Secret")
	set.BoolVar(acl, FlagStoreACL, false, "agents use the store user and the Secret that the orchestrator creates for each "+kind+" with --valkey-acl")
	set.BoolVar(&store.TLS, FlagStoreTLS, false, "agents connect to the store with TLS; their Secret must also contain ca.crt")
	set.StringVar(&store.ServerName, FlagStoreServer, "", "server name in the store's certificate; defaults to the host of the address")
	set.StringVar(image, FlagExecImage, "", "image of the supervisor, the agent of the exec driver")
}

// Check validates the store flags. If acl is true, each workload of the kind has its own store user.
func (s Store) Check(acl bool, kind string) []error {
	switch {
	case s.TLS && !acl && s.Secret == "":
		return []error{fmt.Errorf("--%s: agents read the store's CA from their Secret: set --%s or --%s", FlagStoreTLS, FlagStoreACL, FlagStoreSecret)}
	case acl && (s.Secret != "" || s.Username != ""):
		return []error{fmt.Errorf("--%s gives each %s its own store user: omit --%s and --%s", FlagStoreACL, kind, FlagStoreUsername, FlagStoreSecret)}
	case s.Address == "":
		return nil
	}
	if host, port, err := net.SplitHostPort(s.Address); err != nil || host == "" || port == "" {
		return []error{fmt.Errorf("--%s (inPlace.storeAddress): %q is not host:port", FlagStoreAddress, s.Address)}
	}
	return nil
}

// Flags of managers that add agents to pods: the store as seen from pods, and the supervisor's image.
const (
	FlagStoreAddress   = "inplace-store-address"
	FlagStoreUsername  = "inplace-store-username"
	FlagStoreSecret    = "inplace-store-secret"
	FlagStoreSecretKey = "inplace-store-secret-key"
	FlagStoreACL       = "inplace-store-acl"
	FlagStoreTLS       = "inplace-store-tls"
	FlagStoreServer    = "inplace-store-tls-server-name"
	FlagExecImage      = "inplace-exec-image"
)
