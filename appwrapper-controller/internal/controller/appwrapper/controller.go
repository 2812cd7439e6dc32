// Package appwrapper reconciles AppWrappers. Package policy decides what to do; this package observes the cluster and carries out the
// decision.
//
//	observe (cache) -> policy.Decide -> [observe (live) -> policy.Decide] -> act -> write the status -> events, metrics
//
// A decision that ends an attempt is confirmed with live reads, because a cache may still hold the objects of the previous attempt.
package appwrapper

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// +kubebuilder:rbac:groups=workload.codeflare.dev,resources=appwrappers,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=workload.codeflare.dev,resources=appwrappers/status,verbs=patch
// +kubebuilder:rbac:groups=workload.codeflare.dev,resources=appwrappers/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods;services,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=kubeflow.org,resources=mpijobs;pytorchjobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=leaderworkerset.x-k8s.io,resources=leaderworkersets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters;rayjobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=scheduling.sigs.k8s.io;scheduling.x-k8s.io,resources=podgroups,verbs=get;list;watch;create;delete

// Name is the name of the controller in logs and metrics, and the reporter of its events.
const Name = "appwrapper"

var kind = v1beta2.GroupVersion.WithKind(v1beta2.Kind)

type Options struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server, for decisions that must not be based on a stale cache.
	Live client.Reader
	// Wrapped is the cache of wrapped objects. See WrappedCacheOptions.
	Wrapped cache.Cache
	// Discovery reports whether a kind is still served.
	Discovery discovery.ServerResourcesInterface
	// Reviews verifies that the webhook checked an AppWrapper. If nil, components are created without a check.
	Reviews  *review.Reviews
	Recorder events.EventRecorder
	Metrics  *Metrics
	Config   settings.AppWrapper
}

type Reconciler struct {
	Options

	kinds       *kinds
	signals     signals.Table
	evacuations *evacuations
}

func New(o Options) *Reconciler {
	return &Reconciler{
		Options: o,
		kinds: &kinds{
			cache: o.Wrapped, pods: o.Client, live: o.Live, discovery: o.Discovery, finished: lru.New(maxFinishedObjects),
			watched: map[schema.GroupVersionKind]cache.Informer{},
		},
		signals:     o.Config.Table(),
		evacuations: &evacuations{reader: o.Client, limit: o.Config.NodeHealth.MaxSimultaneousEvacuations},
	}
}

func (r *Reconciler) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1beta2.AppWrapper{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: appWrapperChanged})).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(requestOf), builder.WithPredicates(predicate.Funcs{UpdateFunc: podChanged})).
		WatchesRawSource(source.Kind(mgr.GetCache(), &corev1.Node{}, handler.TypedEnqueueRequestsFromMapFunc(r.workloadsOn),
			predicate.TypedFuncs[*corev1.Node]{UpdateFunc: nodeChanged})).
		WatchesRawSource(source.Func(r.kinds.start)).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// safetyPoll is the resync period, for changes that cause no watch event.
const safetyPoll = 5 * time.Minute

func (r *Reconciler) Reconcile(ctx context.Context, aw *v1beta2.AppWrapper) (ctrl.Result, error) {
	if ptr.Deref(aw.Spec.ManagedBy, v1beta2.ControllerName) != v1beta2.ControllerName { // another controller manages it, such as MultiKueue
		return ctrl.Result{}, nil
	}
	s, err := r.observe(ctx, aw, false)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := policy.Decide(&s.facts)
	if d.Confirm {
		if s, err = r.observe(ctx, aw, true); err != nil {
			return ctrl.Result{}, err
		}
		d = policy.Decide(&s.facts)
	}
	return r.apply(ctx, s, d)
}

// apply carries out a decision and then writes the status. If the action fails, the status is written only for removals: their grace periods
// continue, and the message says what blocks them. Failed deletions are retried in the next reconcile.
func (r *Reconciler) apply(ctx context.Context, s *scope, d *policy.Decision) (ctrl.Result, error) {
	if d.Do != policy.Nothing {
		if current, err := requeue.IsCurrent(ctx, r.Live, kind, s.aw); err != nil || !current {
			return ctrl.Result{RequeueAfter: requeue.Stale}, err
		}
	}
	d, err := r.act(ctx, s, d)
	removal := d.Do == policy.Delete || d.Do == policy.ForcePods || d.Do == policy.ForceComponents
	gone := d.Do == policy.Release || d.Do == policy.DeleteObject
	if removal || err == nil && !gone {
		if s.deletionRefused {
			d.Explain(s.facts.Remains)
		}
		err = errors.Join(err, r.writeStatus(ctx, s, d))
	}
	if err != nil {
		return requeue.OnError(err)
	}
	return ctrl.Result{RequeueAfter: requeueAfter(d)}, nil
}

// requeueAfter returns the time until the next reconcile if no event arrives, or 0 for never.
func requeueAfter(d *policy.Decision) time.Duration {
	switch {
	case d.After > 0:
		return min(d.After, safetyPoll)
	case d.Next == v1beta2.Succeeded, d.Next == v1beta2.Failed, d.Next == v1beta2.Suspended:
		return 0
	}
	return safetyPoll
}

// act carries out the decision's action. Only the outcome of a creation changes the decision.
func (r *Reconciler) act(ctx context.Context, s *scope, d *policy.Decision) (*policy.Decision, error) {
	switch d.Do {
	case policy.AddFinalizer:
		return d, r.patchMetadata(ctx, s, func(aw *v1beta2.AppWrapper) { controllerutil.AddFinalizer(aw, v1beta2.Finalizer) })
	case policy.Create:
		outcome, err := r.create(ctx, s)
		if err != nil {
			return d, err
		}
		return policy.AfterCreate(&s.facts, outcome), nil
	case policy.Delete, policy.ForceComponents:
		return d, r.deleteComponents(ctx, s, d.Do == policy.ForceComponents)
	case policy.ForcePods:
		return d, r.forcePods(ctx, s)
	case policy.Release:
		return d, r.patchMetadata(ctx, s, func(aw *v1beta2.AppWrapper) { controllerutil.RemoveFinalizer(aw, v1beta2.Finalizer) })
	case policy.DeleteObject:
		return d, r.Client.Delete(ctx, s.aw, withUID(s.aw))
	}
	return d, nil
}

// scope is the state of one reconcile. observe fills it, and actions record their results in it.
type scope struct {
	// aw is the AppWrapper as observed. Its resource version changes with each write.
	aw    *v1beta2.AppWrapper
	facts policy.Facts
	// components are the observed components, in the order of the spec. Empty if they were not observed.
	components []observedComponent
	// pods are shared with the cache and must not be changed.
	pods []*corev1.Pod
	// problems describe invalid annotations. They are reported when an attempt begins.
	problems []string
	// status is the next status. observe and the actions update the component statuses in it.
	status *v1beta2.AppWrapperStatus
	// deletionRefused reports whether the API server refused to delete some of the remaining objects.
	deletionRefused bool
}

type observedComponent struct {
	ref      reference
	presence policy.Presence
	// meta is the metadata of the object; nil if it does not exist.
	meta metav1.Object
	// report is the state of the object, or its last known state if it has been deleted.
	report health.Report
}

// patchMetadata writes a change to the metadata. It fails with a conflict if the AppWrapper has changed since it was observed.
func (r *Reconciler) patchMetadata(ctx context.Context, s *scope, change func(*v1beta2.AppWrapper)) error {
	next := s.aw.DeepCopy()
	change(next)
	if err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(s.aw, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patching the metadata: %w", err)
	}
	s.aw = next
	return nil
}
