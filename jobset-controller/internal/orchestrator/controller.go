// Package orchestrator manages the in-place restarts of a cluster's JobSets and ElasticJobs (JobSet KEP-876). It is not
// on the critical path: agents and the store restart a group without it.
//
//	Reconcile: observe -> leader.Decide -> read what the plan needs, or act -> again, until nothing is left to do
//
// Package leader decides what to do and why. This package observes (observe.go, kinds.go, reads.go) and acts (act.go,
// write.go). Actions are safe to repeat. Anything that must be counted exactly once is a compare-and-set on the owner
// itself.
package orchestrator

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/series"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=orchestrator-role,fileName=orchestrator.yaml paths=. output:rbac:dir=../../../charts/jobset-controller/files/rbac

// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets/status,verbs=patch
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;update
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler leads the groups of one kind of owner.
type Reconciler struct {
	Kind     Kind
	Client   client.Client
	Live     client.Reader // reads from the API server instead of the cache
	Store    rounds.Leader
	Tokens   Tokens
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Users    Credentials // nil if agents have no store users of their own
	Groups   *Groups
	Metrics  *Metrics

	outage   atomic.Bool        // a store outage is logged once, no matter how many groups it affects
	examined map[types.UID]bool // pods examined by NoteUnprepared
}

// Register adds the reconciler to the manager, which may already be running. wakeups delivers the owners whose group
// has changed in the store.
func (r *Reconciler) Register(mgr ctrl.Manager, wakeups source.Source) error {
	b := ctrl.NewControllerManagedBy(mgr).Named(r.Kind.Controller).WatchesRawSource(wakeups).
		WithOptions(controller.Options{RateLimiter: backOff()})
	changed := builder.WithPredicates(ownerChanged)
	if r.Kind.Concerns != nil {
		changed = builder.WithPredicates(predicate.NewPredicateFuncs(r.Kind.Concerns), ownerChanged)
	}
	if !r.Kind.Jobs {
		return b.For(r.Kind.New(), builder.OnlyMetadata, changed).Complete(r)
	}
	if !r.Kind.Alone { // only creations and deletions of Jobs matter, after a recreation
		b.Watches(&batchv1.Job{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha2.JobSet{}, handler.OnlyControllerOwner()),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}))
	}
	return b.For(r.Kind.New(), changed).Watches(&corev1.Pod{}, r.podHandler()).Complete(r)
}

// ownerChanged selects changes that affect the group: spec, annotations, deletion, and the parts of the status returned
// by statusOf.
var ownerChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld, e.ObjectNew
	return before.GetGeneration() != after.GetGeneration() ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		statusOf(before) != statusOf(after)
}}

// statusOf returns the parts of an owner's status that affect its group. It excludes counters, except for the number of
// recreations by the owner's controller.
func statusOf(owner client.Object) any {
	switch o := owner.(type) {
	case *v1alpha2.JobSet:
		return [2]any{o.Status.TerminalState, o.Status.Restarts}
	case *batchv1.Job:
		return isJobOver(o)
	}
	return nil
}

// Reconcile leads the group of an owner.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	owner, key := r.Kind.New(), ownerKey{r.Kind.Controller, req.NamespacedName}
	err := r.Client.Get(ctx, req.NamespacedName, owner)
	if pod, is := owner.(*corev1.Pod); is {
		err = r.getLeader(ctx, req.NamespacedName, pod, err)
	}
	if err != nil {
		if apierrors.IsNotFound(err) { // the sweep will drop its group
			r.Groups.forget(key)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owner.GetObjectKind().SetGroupVersionKind(r.Kind.GVK)
	var again time.Duration
	if r.Kind.Jobs && provenance.Copied(owner.GetAnnotations(), owner.GetUID()) {
		err = r.dropCopies(ctx, owner)
	} else {
		again, err = r.reconcile(ctx, owner, key)
	}
	switch {
	case errors.Is(err, coordination.ErrStaleLeader):
		r.Metrics.Inc(series.FencingRejections)
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: 20 * time.Millisecond}, nil // the cache is stale; the next reconcile gets the newer object
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil // the owner was just deleted; the sweep drops its group
	case errors.Is(err, credentials.ErrStore):
		if r.outage.CompareAndSwap(false, true) {
			log.FromContext(ctx).Error(err, "store unreachable, retrying; timeouts and recreations are paused")
		}
		return ctrl.Result{RequeueAfter: jitter(retryStore)}, r.nameUnreachable(ctx, owner, err)
	}
	return ctrl.Result{RequeueAfter: again}, err
}

// backOff limits the delay after an error. With the default limit of 1,000 s, a call that is always rejected would
// delay the restarts of its group.
func backOff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, retryRejected)
}

// dropCopies removes annotations that were written for another owner. The update triggers the next reconcile.
func (r *Reconciler) dropCopies(ctx context.Context, owner client.Object) error {
	changed := owners.Copy(owner)
	annotations := changed.GetAnnotations()
	if _, is := owner.(*batchv1.Job); is {
		provenance.DropOfJob(annotations)
	} else {
		provenance.Drop(annotations)
	}
	return patch(ctx, r.Client, owner, changed)
}

// nameUnreachable reports in the condition of an owner whose group has never formed that the store is unreachable. It
// leaves a condition about running workers unchanged.
func (r *Reconciler) nameUnreachable(ctx context.Context, owner client.Object, cause error) error {
	js := jobSetOf(owner)
	if js == nil || !r.Kind.Asks(owner) || ptr.Deref(js.Spec.Suspend, false) {
		return nil
	}
	old := conditionOf(js, ConditionInSync)
	if old != nil && old.Reason != leader.ReasonForming && old.Reason != leader.ReasonUnreachable {
		return nil
	}
	c := leader.Condition{Reason: leader.ReasonUnreachable, Message: "workers cannot join: " + short(cause.Error()), Version: js.Generation}
	if old != nil && *old == c {
		return nil
	}
	return writeConditions(ctx, r.Client, owner, leader.SetConditions{InSync: &c}, r.Clock.Now())
}
