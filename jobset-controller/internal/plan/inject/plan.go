// Package inject plans what is added to the Jobs of a JobSet that requests in-place restarts by an annotation and does
// not include an agent. It performs no I/O.
//
//	Assess    decides, based on the JobSet alone, what is added to each replicatedJob, and reports problems and warnings
//	For       decides whether it is added to the Jobs of this attempt: the decision for the first Job applies to all
//	Into      adds it to a Job that is being built
//
// The exec driver makes the supervisor run the worker's command. An init container copies the program to an in-memory
// volume:
//
//	init container   holdfast-exec install /holdfast
//	worker           /holdfast/holdfast-exec flags -- original command and arguments
//
// The cri driver adds the sidecar of JobSet KEP-876. Both get their identity from the downward API.
package inject

import (
	"cmp"
	"math"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const (
	injected    = "true"
	notInjected = "false"
)

// Plan describes what is added to the Jobs of one attempt. The zero Plan adds nothing.
type Plan struct {
	settings Settings
	kind     string // kind of the group's owner
	entries  []Entry
	mark     string          // value of InPlaceInjectionKey; empty if the JobSet does not request agents
	follows  bool            // whether the workers must be able to reach a worker that runs in a spare
	anySlot  map[string]bool // replicatedJobs whose current Jobs support any slot, even if they no longer have spares
}

// For returns the plan for the attempt to which the current Jobs belong. The first Jobs of the attempt determine
// whether agents are added. If the annotation is set while workers without agents are running, it takes effect when all
// of them are recreated: a group in which only some workers have an agent never forms.
func For(a Assessment, current []*batchv1.Job, s Settings) Plan {
	if !a.Adds() {
		return Plan{}
	}
	possible := len(a.Problems) == 0 && s.Lacks(a) == ""
	injects, began := Began(current)
	if !possible || (began && !injects) {
		return Plan{mark: notInjected}
	}
	p := Plan{settings: s, kind: a.Kind, entries: a.Entries, mark: injected, anySlot: map[string]bool{}}
	p.follows = slices.ContainsFunc(a.Entries, func(e Entry) bool { return e.Spares > 0 })
	for _, job := range current {
		slots := job.Annotations[v1alpha2.SlotsKey]
		p.follows = p.follows || slots != ""
		if slots == v1alpha2.SlotsAny {
			p.anySlot[job.Labels[v1alpha2.ReplicatedJobNameKey]] = true
		}
	}
	return p
}

// slots returns the value of SlotsKey for a Job of an entry, or "" for none.
func (p Plan) slots(e Entry, job *batchv1.Job) string {
	switch {
	case e.Spares > 0 || p.anySlot[job.Labels[v1alpha2.ReplicatedJobNameKey]]:
		return v1alpha2.SlotsAny
	case p.follows:
		return v1alpha2.SlotsFollow
	}
	return ""
}

func (p Plan) Spares(rjob int) int {
	if p.mark != injected {
		return 0
	}
	return p.entries[rjob].Spares
}

// Began reports whether an attempt already has Jobs, and whether agents are added to them.
func Began(current []*batchv1.Job) (injects, began bool) {
	for _, job := range current {
		if job.Annotations[v1alpha2.InPlaceInjectionKey] == injected {
			return true, true
		}
	}
	return false, len(current) > 0
}

// Into adds the agent to a Job that is being built from the replicatedJob with the given index. first gives the indexes
// of the replicatedJob's first Job. The Job must not share memory with its template.
func (p Plan) Into(rjob int, job *batchv1.Job, first First) {
	if p.mark == "" {
		return
	}
	job.Annotations[v1alpha2.InPlaceInjectionKey] = p.mark
	delete(job.Annotations, v1alpha2.SlotsKey) // copied from the template
	if p.mark != injected {
		return
	}
	settings, who := p.settings.of(job, p.kind), identity(p.kind, job)
	pod := &job.Spec.Template.Spec
	e := p.entries[rjob]
	switch e.Driver {
	case Exec:
		slots := p.slots(e, job)
		if slots != "" {
			job.Annotations[v1alpha2.SlotsKey] = slots
		}
		settings.addSupervisor(pod, e, who, slots, first)
	case CRI:
		settings.addSidecar(pod, e.Container, who)
	default:
		return
	}
	supervise.AddPullSecrets(pod, settings.PullSecrets)
	outliveRestarts(&job.Spec)
	leaveLostNodes(pod)
}

// outliveRestarts raises the limits of the Job, because the Job controller counts containers that restart in place as
// failures. It also prevents the Job controller from replacing a pod whose worker may still be running, unless the
// Job's author has set a replacement policy.
func outliveRestarts(job *batchv1.JobSpec) {
	job.PodReplacementPolicy = cmp.Or(job.PodReplacementPolicy, ptr.To(batchv1.Failed))
	job.BackoffLimit = ptr.To[int32](math.MaxInt32)
	job.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
}

// Carriers reports for each replicatedJob whether its pods have an agent. The current Jobs determine this or, if there
// are none yet, the plan for the next Jobs.
func Carriers(js *v1alpha2.JobSet, a Assessment, current []*batchv1.Job) []bool {
	injects, _ := Began(current)
	carries := make([]bool, len(js.Spec.ReplicatedJobs))
	index := make(map[string]int, len(carries))
	for i := range carries {
		rjob := &js.Spec.ReplicatedJobs[i]
		index[rjob.Name] = i
		carries[i] = bringsAgent(*rjob) || (injects && len(a.Problems) == 0 && a.Entries[i].Driver != None)
	}
	seen := make([]bool, len(carries))
	for _, job := range current {
		if i, known := index[job.Labels[v1alpha2.ReplicatedJobNameKey]]; known {
			has := inplace.HasAgent(&job.Spec.Template.Spec)
			carries[i] = has && (carries[i] || !seen[i])
			seen[i] = true
		}
	}
	return carries
}

const (
	socketVolume = "holdfast-cri-socket"
	socketPath   = "/run/containerd/containerd.sock"
)
