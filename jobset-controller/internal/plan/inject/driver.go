package inject

import (
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// Driver is the mechanism that restarts a worker.
type Driver string

const (
	// Exec is a supervisor in the worker's container.
	Exec Driver = "exec"
	// CRI is a sidecar that uses the node's container runtime.
	CRI Driver = "cri"
	// None leaves the pods unchanged.
	None Driver = "none"
)

var drivers = []Driver{Exec, CRI, None}

// template holds a replicatedJob, and what is added to it.
type template struct {
	jobSet *v1alpha2.JobSet
	rjob   *v1alpha2.ReplicatedJob
	path   *field.Path // path of the Job template; nil for a Job without a JobSet
	// Entry is what is added to the template, as determined so far.
	Entry
}

func templateOf(js *v1alpha2.JobSet, i int) *template {
	t := &template{jobSet: js, rjob: &js.Spec.ReplicatedJobs[i]}
	if !inplace.IsAlone(js) {
		t.path = field.NewPath("spec", "replicatedJobs").Index(i).Child("template")
	}
	return t
}

func (t *template) job() *batchv1.JobSpec { return &t.rjob.Template.Spec }

func (t *template) pod() *corev1.PodSpec { return &t.job().Template.Spec }

func (t *template) worker() *corev1.Container { return &t.pod().Containers[t.Container] }

func (t *template) jobPath() *field.Path { return t.path.Child("spec") }

func (t *template) podPath() *field.Path {
	if inplace.IsPods(t.jobSet) {
		return field.NewPath("spec")
	}
	return t.path.Child("spec", "template", "spec")
}

func (t *template) workerPath() *field.Path {
	return t.podPath().Child("containers").Index(t.Container)
}

// annotation returns an annotation of the template or, if that is not set, of the JobSet, together with its path. If
// neither is set, it returns the path of the template's annotation.
func (t *template) annotation(key string) (value string, path *field.Path, found bool) {
	annotations := field.NewPath("metadata", "annotations").Key(key)
	onTemplate := t.path.Child("metadata", "annotations").Key(key)
	if value, found = t.rjob.Template.Annotations[key]; found {
		return value, onTemplate, true
	}
	if value, found = t.jobSet.Annotations[key]; found {
		return value, annotations, true
	}
	return "", onTemplate, false
}

// findDriver reads the driver from the annotation. The default is Exec, or None in a JobSet that includes agents,
// because its author has chosen which pods have one.
func (t *template) findDriver(byHand bool) *field.Error {
	value, path, found := t.annotation(v1alpha2.InPlaceDriverKey)
	switch {
	case found:
		t.Driver = Driver(value)
	case byHand:
		t.Driver = None
	default:
		t.Driver = Exec
	}
	if !slices.Contains(drivers, t.Driver) {
		t.Driver = None
		return field.NotSupported(path, Driver(value), drivers)
	}
	return nil
}

// findContainer selects the container that the annotation names, or the only container.
func (t *template) findContainer() *field.Error {
	containers := t.pod().Containers
	if len(containers) == 1 {
		return nil
	}
	name, path, found := t.annotation(v1alpha2.InPlaceContainerKey)
	if !found {
		return field.Required(path, fmt.Sprintf("the pod has %d containers; name the one to restart", len(containers)))
	}
	t.Container = slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
	if t.Container < 0 {
		return field.Invalid(path, name, "no container of "+t.podPath().Child("containers").String()+" has this name")
	}
	return nil
}

// addSupervisor makes the supervisor the entry point of the worker's container. slots is the value of SlotsKey.
func (s Settings) addSupervisor(pod *corev1.PodSpec, e Entry, who []corev1.EnvVar, slots string, first First) {
	supervisor := supervise.Supervisor{Image: s.ExecImage, Store: s.Store, Identity: who, Flags: e.Progress.flags()}
	if s.Alone > 0 {
		supervisor.Flags = append(supervisor.Flags, "--exit-without-store-after="+s.Alone.String())
	}
	if slots != "" {
		own := ownIdentity(first, pod.Subdomain)
		if slots == v1alpha2.SlotsFollow { // the pod works in its own slot, even if it was created as a waiting pod
			own = slices.DeleteFunc(own, func(v corev1.EnvVar) bool { return v.Name == envPodSlot })
		}
		supervisor.Identity = append(supervisor.Identity, own...)
		supervisor.Flags = append(supervisor.Flags, flagOwnID)
	}
	supervisor.Into(pod, e.Container)
	if slots == v1alpha2.SlotsAny {
		takeAnySlot(&pod.Containers[e.Container])
	}
}

const (
	sidecarName = "holdfast-agent"
	// readyPort is an uncommon port, because all containers of a pod share its ports.
	readyPort = 28080
)

// addSidecar adds the sidecar of JobSet KEP-876. The worker reads its restart count from round.env on the startup volume.
func (s Settings) addSidecar(pod *corev1.PodSpec, worker int, who []corev1.EnvVar) {
	c := &pod.Containers[worker]
	pod.InitContainers = append(pod.InitContainers, s.sidecar(c.Name, who))
	pod.Volumes = append(append(pod.Volumes, s.Store.Volumes()...), corev1.Volume{Name: socketVolume, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: socketPath, Type: ptr.To(corev1.HostPathSocket)},
	}})
	round := supervise.StartupMount()
	round.ReadOnly = true
	c.VolumeMounts = append(c.VolumeMounts, round)
}

func (s Settings) sidecar(worker string, who []corev1.EnvVar) corev1.Container {
	return corev1.Container{
		Name:          sidecarName,
		Image:         s.AgentImage,
		RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Env: append(append(who, s.Store.Environment()...),
			corev1.EnvVar{Name: envContainer, Value: worker},
			corev1.EnvVar{Name: envReadyPort, Value: strconv.Itoa(readyPort)},
		),
		VolumeMounts: append(s.Store.Mounts(), corev1.VolumeMount{Name: socketVolume, MountPath: socketPath}),
		// Access to the socket requires this, regardless of what the pod sets for its other containers.
		SecurityContext: &corev1.SecurityContext{
			Privileged: ptr.To(true), RunAsNonRoot: ptr.To(false), RunAsUser: ptr.To[int64](0), RunAsGroup: ptr.To[int64](0),
		},
		// The probe delays the worker until its agent is ready. The default period would delay every pod by ten
		// seconds.
		StartupProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(readyPort)}},
			PeriodSeconds: 1, FailureThreshold: 60,
		},
	}
}
