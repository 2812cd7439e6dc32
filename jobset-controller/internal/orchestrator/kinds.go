package orchestrator

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Kind describes a kind of owner.
type Kind struct {
	Controller string // name of its controller
	GVK        schema.GroupVersionKind
	New        func() client.Object
	// Jobs means that Jobs create the pods, and that the orchestrator writes the conditions. For other kinds no pods
	// are read or deleted.
	Jobs bool
	// Alone means that the group has no JobSet: its owner is its only Job, or the pod with index 0. jobSetOf represents
	// it as a JobSet.
	Alone bool
	// Installation is the name of the installation that leads the groups, if other controllers manage their owners. It
	// is empty for our own controllers.
	Installation string
	// Concerns reports whether an object may have a group, or once had one; nil if all may.
	Concerns func(client.Object) bool
	// Asks reports whether an owner requests in-place restarts, in which case its pods wait for the Secret of their
	// agents.
	Asks func(owner client.Object) bool
	// View returns what the owner requests. known reports whether the store may have any data about the owner. An
	// unreadable owner is not changed.
	View func(owner client.Object, jobs []*batchv1.Job) (view leader.Owner, known bool, err error)
}

// JobSets is the kind of JobSets managed by our own controller.
var JobSets = Kind{
	Controller: "orchestrator", GVK: owners.JobSet, Jobs: true,
	New:  func() client.Object { return &v1alpha2.JobSet{} },
	Asks: func(owner client.Object) bool { return asksUs(owner.(*v1alpha2.JobSet)) },
	View: viewJobSet,
}

// ElasticJobs is the kind of ElasticJobs, whose roster lists the members of the group. The report lists the workers that
// cannot be restarted in place, and the operator replaces their pods.
var ElasticJobs = Kind{
	Controller: "rosters", GVK: owners.ElasticJob,
	New: func() client.Object { return owners.MakeElasticJob() },
	Asks: func(owner client.Object) bool {
		return policy.ReadInPlace(owner.GetAnnotations()).Enabled && owner.GetDeletionTimestamp().IsZero()
	},
	View: viewElasticJob,
}

func viewElasticJob(owner client.Object, _ []*batchv1.Job) (leader.Owner, bool, error) {
	view := leader.Owner{
		UID: string(owner.GetUID()), Name: owner.GetName(), HasRoster: true, Annotations: owner.GetAnnotations(),
		Report: roster.ReportOf(owner.GetAnnotations()),
	}
	var err error
	if view.Roster, err = roster.Of(owner.GetAnnotations()); err != nil {
		return view, false, fmt.Errorf("reading the roster: %w", err)
	}
	if !owner.GetDeletionTimestamp().IsZero() {
		view.Roster = nil
	}
	if view.Roster != nil {
		view.Timeout = view.Roster.Timeout
	}
	return view, view.Roster != nil || view.Report != nil, nil
}

func viewJobSet(owner client.Object, jobs []*batchv1.Job) (leader.Owner, bool, error) {
	js := owner.(*v1alpha2.JobSet)
	inPlace := policy.ReadInPlace(js.Annotations)
	view := ownerOf(js, inPlace, epochOf(js))
	if asksUs(js) {
		view.Wanted, view.Undecided, view.Refused = wantedOf(js, inPlace, jobs)
	}
	return view, isKnown(view) && js.Annotations[v1alpha2.LedByKey] == "", nil
}

// asksUs reports whether a running JobSet of our own controller requests in-place restarts and is not led by another
// installation.
func asksUs(js *v1alpha2.JobSet) bool {
	return policy.ReadInPlace(js.Annotations).Enabled && !isOver(js) && policy.Ours(js) && js.Annotations[v1alpha2.LedByKey] == ""
}

// jobSetOf returns the JobSet that represents an owner whose pods are created by Jobs, or nil for other owners.
func jobSetOf(owner client.Object) *v1alpha2.JobSet {
	if js, is := owner.(*v1alpha2.JobSet); is {
		return js
	}
	if job := onlyJob(owner); job != nil {
		return inplace.OfJob(job)
	}
	return nil
}

// onlyJob returns the only Job of an owner whose kind sets Alone, or nil for other owners.
func onlyJob(owner client.Object) *batchv1.Job {
	switch o := owner.(type) {
	case *batchv1.Job:
		return o
	case *corev1.Pod:
		return inplace.OfPods(o)
	}
	return nil
}

func isKnown(view leader.Owner) bool { return view.Wanted != nil || view.Counted || view.InSync != nil }

func ownerOf(js *v1alpha2.JobSet, inPlace policy.InPlace, current epoch.Record) leader.Owner {
	_, counted := js.Annotations[v1alpha2.InPlaceRestartsKey]
	return leader.Owner{
		UID: string(js.UID), Name: js.Name, Version: js.Generation, Deleted: !js.DeletionTimestamp.IsZero(),
		Epoch: current, Charged: inPlace.Restarts, Counted: counted, Budget: policy.Budget(&js.Spec),
		Timeout: inPlace.Timeout, FormingTimeout: inPlace.FormingTimeout, Annotations: js.Annotations,
		InSync: conditionOf(js, ConditionInSync), Recovering: conditionOf(js, ConditionRecovering),
		PolicyPrefix: policy.RestartCausePrefix, PolicyCounted: js.Status.Restarts == js.Status.RestartsCountTowardsMax,
	}
}

func isOver(js *v1alpha2.JobSet) bool {
	return js.Status.TerminalState != "" || !js.DeletionTimestamp.IsZero()
}

// epochOf returns the epoch of a JobSet. An unreadable epoch is treated as the first one. In that case, the store has a
// later one. Restarts that the controller counted before in-place restarts were enabled also count against the budget.
func epochOf(js *v1alpha2.JobSet) epoch.Record {
	record, _ := epoch.Of(js.Annotations)
	record.Base = max(record.Base, js.Status.RestartsCountTowardsMax)
	return record
}

// wantedOf returns the group that a JobSet requests, or nil and a reason if the request cannot be satisfied. The first
// Job of an attempt shows whether the manager adds agents. Until that Job exists, for example between the deletion of
// all Jobs and their recreation, undecided is true.
func wantedOf(js *v1alpha2.JobSet, inPlace policy.InPlace, jobs []*batchv1.Job) (w *group.Wanted, undecided bool, refused string) {
	w = &group.Wanted{Suspended: ptr.Deref(js.Spec.Suspend, false), MaxPause: inPlace.MaxRestartDelay, Barrier: true}
	agents := inject.Assess(js)
	if len(jobs) == 0 && agents.Adds() && len(agents.Problems) == 0 {
		return w, true, ""
	}
	w.Barrier = !slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return inplace.HasSidecar(&job.Spec.Template.Spec) })
	w.Stages = inplace.Stages(js, jobs, inject.Carriers(js, agents, jobs))
	if refused = inplace.TooLarge(w.Stages); refused != "" {
		return nil, false, refused
	}
	if len(w.Stages) == 0 {
		return nil, false, whyNone(agents)
	}
	for _, job := range jobs {
		w.Finished = append(w.Finished, inplace.FinishedSlots(js.Name, job)...)
		w.Finished = append(w.Finished, inplace.SlotsBeyond(js.Name, job, w.Stages)...) // slots of completed Jobs that will never have a worker
	}
	return w, false, ""
}

func whyNone(agents inject.Assessment) string {
	switch {
	case len(agents.Problems) > 0:
		return "no agent can be added to the pods: " + agents.Problems[0].Error()
	case agents.Adds():
		return "the Jobs were created without agents; agents are added when they are recreated, if the manager is configured to add agents"
	}
	return "no pod of this JobSet has an agent"
}

const (
	// ConditionInSync is True while all workers of the group have the same total restart count.
	ConditionInSync = "InPlaceInSync"
	// ConditionRecovering is True while the owner has the annotation defined by package recovering, and is absent at all
	// other times.
	ConditionRecovering = recovering.Condition
)

func conditionOf(js *v1alpha2.JobSet, kind string) *leader.Condition {
	c := meta.FindStatusCondition(js.Status.Conditions, kind)
	if c == nil {
		return nil
	}
	return &leader.Condition{True: c.Status == metav1.ConditionTrue, Reason: c.Reason, Message: c.Message, Version: c.ObservedGeneration}
}
