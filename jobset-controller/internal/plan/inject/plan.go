// Package inject plans what is added to the Jobs of a JobSet that requests in-place restarts by one annotation and brings no agent.
// It is pure.
//
//	Assess    decides, from the JobSet alone, what each replicatedJob gets, and reports problems and warnings
//	For       decides whether the Jobs of this attempt get it: the decision for its first Job holds for all
//	Into      writes it into a Job that is being built
//
// The exec driver puts the supervisor in front of the worker's command. An init container copies the program to a volume in memory:
//
//	init container   holdfast-exec install /holdfast
//	worker           /holdfast/holdfast-exec flags -- original command and arguments
//
// The cri driver adds the sidecar of JobSet KEP-876. Both get their identity from the downward API.
package inject

import (
	"math"
	"strconv"

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

// Plan is what the Jobs of one attempt get. The zero Plan adds nothing.
type Plan struct {
	settings Settings
	kind     string // of the owner
	entries  []Entry
	mark     string // value of InPlaceInjectionKey; empty: the JobSet asks for nothing to be added
}

// For plans the attempt that the current Jobs belong to. Its first Jobs decide. If the annotation is set while workers without
// agents run, it takes effect when all of them are recreated: a group in which only some workers have an agent never forms.
func For(a Assessment, current []*batchv1.Job, s Settings) Plan {
	if !a.Adds() {
		return Plan{}
	}
	possible := len(a.Problems) == 0 && s.Lacks(a) == ""
	injects, began := Began(current)
	if !possible || (began && !injects) {
		return Plan{mark: notInjected}
	}
	return Plan{settings: s, kind: a.Kind, entries: a.Entries, mark: injected}
}

// Spares returns how many spares a replicatedJob gets.
func (p Plan) Spares(rjob int) int {
	if p.mark != injected {
		return 0
	}
	return p.entries[rjob].Spares
}

// Began reports whether an attempt has Jobs, and whether agents are added to them.
func Began(current []*batchv1.Job) (injects, began bool) {
	for _, job := range current {
		if job.Annotations[v1alpha2.InPlaceInjectionKey] == injected {
			return true, true
		}
	}
	return false, len(current) > 0
}

// Into adds the agent to a Job that is being built from the replicatedJob with the given index, whose first Job has the given place. The
// Job must not share memory with its template.
func (p Plan) Into(rjob int, job *batchv1.Job, first First) {
	if p.mark == "" {
		return
	}
	job.Annotations[v1alpha2.InPlaceInjectionKey] = p.mark
	if p.mark != injected {
		return
	}
	settings, who := p.settings.of(job, p.kind), identity(p.kind, job)
	pod := &job.Spec.Template.Spec
	e := p.entries[rjob]
	switch e.Driver {
	case Exec:
		settings.addSupervisor(pod, e, who, first)
	case CRI:
		settings.addSidecar(pod, e.Container, who)
	default:
		return
	}
	if e.Spares > 0 {
		job.Annotations[v1alpha2.SparesKey] = strconv.Itoa(e.Spares)
	}
	supervise.AddPullSecrets(pod, settings.PullSecrets)
	outliveRestarts(&job.Spec)
	leaveLostNodes(pod)
}

// outliveRestarts raises the limits of the Job, because containers that are restarted on an order count as its failures. Unless its
// author decides otherwise, the Job also replaces no pod whose worker may still run, just like the leader.
func outliveRestarts(job *batchv1.JobSpec) {
	if job.PodReplacementPolicy == nil {
		job.PodReplacementPolicy = ptr.To(batchv1.Failed)
	}
	job.BackoffLimit = ptr.To[int32](math.MaxInt32)
	job.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
}

// Carriers reports for each replicatedJob whether its pods have an agent. Its current Jobs decide; if it has none yet, the plan for
// its next Jobs does.
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
