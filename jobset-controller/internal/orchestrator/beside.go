package orchestrator

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/beside"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
)

// Beside is the kind of JobSets managed by the upstream controller. That controller is not aware of groups: the webhook
// prepares the Jobs that it creates, and the leader opens generations and fails the JobSet when the budget is used up.
// Once an installation has prepared one of a JobSet's Jobs, it claims the JobSet and leads it. It ignores JobSets of
// our own controller and of other installations.
func Beside(installation string) Kind {
	return led(installation, Kind{
		Controller: JobSets.Controller, GVK: owners.JobSet,
		New: func() client.Object { return &v1alpha2.JobSet{} },
	})
}

// Alone is the kind of Indexed Jobs without a JobSet. They are managed like the JobSets of Beside: each is represented
// as a JobSet with one Job. The webhook's annotation on the Job is the claim.
func Alone(installation string) Kind {
	return led(installation, Kind{
		Controller: "jobs", GVK: owners.Job, Alone: true,
		Concerns: isAlone,
		New:      func() client.Object { return &batchv1.Job{} },
	})
}

// led completes a kind whose groups are led by an installation but whose pods are created by other controllers.
func led(installation string, kind Kind) Kind {
	kind.Jobs, kind.Installation = true, installation
	kind.Asks = func(owner client.Object) bool {
		js := jobSetOf(owner)
		return js.Annotations[v1alpha2.LedByKey] == installation && asks(js)
	}
	kind.View = func(owner client.Object, jobs []*batchv1.Job) (leader.Owner, bool, error) {
		view, known := viewServed(jobSetOf(owner), jobs, installation)
		return view, known, nil
	}
	return kind
}

// isAlone reports whether an object is a Job that does not belong to a JobSet, and requests or once requested in-place restarts.
func isAlone(obj client.Object) bool {
	job, is := obj.(*batchv1.Job)
	if !is || owners.IsJobSet(metav1.GetControllerOfNoCopy(job)) {
		return false
	}
	js := inplace.OfJob(job)
	return asks(js) || js.Annotations[v1alpha2.LedByKey] != "" || conditionOf(js, ConditionInSync) != nil
}

// TrimJob removes most fields of a Job without a group, to keep the cache small.
func TrimJob(job *batchv1.Job) *batchv1.Job {
	if job.Labels[v1alpha2.JobSetNameKey] != "" || isAlone(job) {
		job.ManagedFields = nil
		return job
	}
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: job.Namespace, Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion, OwnerReferences: job.OwnerReferences,
	}}
}

// asks reports whether a running JobSet requests in-place restarts, even with a value that cannot be parsed.
func asks(js *v1alpha2.JobSet) bool {
	return (beside.Asks(js) || beside.Misplaced(js) != "") && !isOver(js) && policy.Ours(js)
}

// viewServed returns what a JobSet requests from this installation. An unclaimed JobSet is known once it has Jobs, or
// once its condition reports that it was refused.
func viewServed(js *v1alpha2.JobSet, jobs []*batchv1.Job, installation string) (view leader.Owner, known bool) {
	inPlace := policy.ReadInPlace(js.Annotations)
	current, _ := epoch.Of(js.Annotations)
	view = ownerOf(js, inPlace, current)
	view.Budget = beside.Budget(js)
	claimed := js.Annotations[v1alpha2.LedByKey] == installation
	if isOthers(js, jobs, installation) {
		return view, false
	}
	if !asks(js) {
		refused := view.InSync != nil && view.InSync.Reason == leader.ReasonRefused
		return view, claimed && isKnown(view) || refused
	}
	if !claimed && len(jobs) == 0 {
		return view, false
	}
	prepared := slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return beside.IsPrepared(job, installation) })
	view.Served = &leader.Served{
		Installation: installation, Claim: !claimed && prepared, Alone: inplace.IsAlone(js), Pods: inplace.IsPods(js),
		Restarts: js.Status.Restarts, Counted: js.Status.RestartsCountTowardsMax,
	}
	view.Refused = beside.Refusal(js)
	if view.Refused == "" && len(jobs) > 0 && !prepared {
		view.Refused = unprepared
	}
	if view.Refused == "" {
		view.Wanted, view.Undecided, view.Refused = wantedOf(js, inPlace, jobs)
	}
	return view, true
}

const unprepared = "created without agents, because the webhook was unreachable or does not apply to this namespace; " +
	"agents are added when all Jobs or pods of the group are created again"

// isOthers reports whether another installation leads the JobSet, or our own controller manages it.
func isOthers(js *v1alpha2.JobSet, jobs []*batchv1.Job, installation string) bool {
	if by := js.Annotations[v1alpha2.LedByKey]; by != "" {
		return by != installation
	}
	return slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return beside.Other(job, installation) })
}
