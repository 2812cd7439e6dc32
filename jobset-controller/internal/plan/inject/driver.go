package inject

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// Driver is the mechanism that restarts a worker.
type Driver string

const (
	// Exec is a supervisor in the worker's container.
	Exec Driver = "exec"
	// CRI is a sidecar that uses the node's container runtime.
	CRI Driver = "cri"
	// None leaves the pods as they are.
	None Driver = "none"
)

var drivers = []Driver{Exec, CRI, None}

// template is one replicatedJob and what is known about it.
type template struct {
	jobSet *v1alpha2.JobSet
	rjob   *v1alpha2.ReplicatedJob
	path   *field.Path // of the Job template; nil for a Job by itself
	// Entry is what the template gets. The rules read it.
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

// annotation returns an annotation of the template or, if it has none, of the JobSet, and its path. If neither has it, the path is
// that on the template.
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

// findDriver reads the driver from the annotation. The default is Exec, but None in a JobSet that brings agents: its author has
// chosen which pods have one.
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

// findContainer selects the only container, or the one that the annotation names.
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
