package supervise

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
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
