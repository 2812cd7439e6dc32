package inject

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// Entry describes what is added to one replicatedJob.
type Entry struct {
	// Driver is the driver to add, or None if there is nothing to add.
	Driver Driver
	// Container is the index of the worker's container in the pod.
	Container int
	// Progress describes what the worker must report.
	Progress Progress
	// Spares is the number of pods that wait to take over the slot of a lost pod.
	Spares int
}

// Assessment describes what is added to a JobSet that requests in-place restarts, or why nothing is added.
type Assessment struct {
	// Kind is the owner's kind if the JobSet represents another object: Job or Pod; see inplace.OfJob.
	Kind string
	// Entries corresponds to spec.replicatedJobs, in the same order.
	Entries []Entry
	// Problems lists errors by field path. A single problem prevents all drivers from being added: if only some workers
	// restarted in place, they would wait for the others forever.
	Problems field.ErrorList
	// Warnings lists settings that impede in-place restarts, each with its field path.
	Warnings []string
}

// Assess decides what is added to the JobSet. It does not change an agent that a template already includes.
func Assess(js *v1alpha2.JobSet) Assessment {
	a := Assessment{Kind: js.Kind, Entries: make([]Entry, len(js.Spec.ReplicatedJobs))}
	byHand := slices.ContainsFunc(js.Spec.ReplicatedJobs, bringsAgent)
	for i := range js.Spec.ReplicatedJobs {
		t := templateOf(js, i)
		a.refuse(t.findSpares(), t.slotIsFree())
		if bringsAgent(*t.rjob) {
			t.Driver = None
			a.Warnings = append(a.Warnings, warningsOf(t)...)
		} else if a.refuse(t.findDriver(byHand)); t.Driver != None {
			a.examine(t)
		}
		a.Entries[i] = t.Entry
	}
	a.checkSpares(js)
	return a
}

func (a Assessment) Adds() bool {
	return slices.ContainsFunc(a.Entries, func(e Entry) bool { return e.Driver != None })
}

func bringsAgent(rjob v1alpha2.ReplicatedJob) bool {
	return inplace.HasAgent(&rjob.Template.Spec.Template.Spec)
}

func (a *Assessment) examine(t *template) {
	if err := t.findContainer(); err != nil {
		a.refuse(err)
		return
	}
	a.refuse(t.findProgress()...)
	a.refuse(t.violations()...)
	a.Warnings = append(a.Warnings, warningsOf(t)...)
}

// refuse adds problems; nil means none. A problem with an annotation on the JobSet occurs for each replicatedJob, but is
// reported only once.
func (a *Assessment) refuse(errs ...*field.Error) {
	for _, err := range errs {
		same := func(known *field.Error) bool { return known.Error() == err.Error() }
		if err != nil && !slices.ContainsFunc(a.Problems, same) {
			a.Problems = append(a.Problems, err)
		}
	}
}

// warningsOf returns warnings about settings that impede restarts in place.
func warningsOf(t *template) []string {
	var list []string
	warn := func(set bool, path *field.Path, why string) {
		if set {
			list = append(list, path.String()+": "+why)
		}
	}
	switch {
	case bringsAgent(*t.rjob): // a restart requested by the agent would make the Job or the pod fail
		warn(ptr.Deref(t.job().BackoffLimit, 6) != math.MaxInt32, t.jobPath().Child("backoffLimit"),
			fmt.Sprintf("restarts in place count towards it; set %d", math.MaxInt32))
		policy := cmp.Or(t.pod().RestartPolicy, corev1.RestartPolicyOnFailure) // the default for pods of a JobSet
		warn(policy != corev1.RestartPolicyOnFailure, t.podPath().Child("restartPolicy"), string(policy)+" keeps workers from restarting in place; set OnFailure")
	case t.Driver == Exec:
		worker, path := t.worker(), t.workerPath()
		warn(worker.LivenessProbe != nil, path.Child("livenessProbe"), "it may kill a worker that waits for the others to start")
		warn(worker.StartupProbe != nil, path.Child("startupProbe"), "it may kill a worker that waits for the others to start")
		warn(t.job().SuccessPolicy != nil, t.jobPath().Child("successPolicy"),
			"a worker that has finished is held until the others have, and succeeds only then")
	}
	return list
}
