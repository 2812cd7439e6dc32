// Package appwrapper makes the world follow AppWrappers. What to do is decided by package policy; here is what reads the world for it
// and does what it says.
//
//	observe (cache) -> policy.Decide -> [observe (live) -> policy.Decide] -> act -> write the status -> events, metrics
//
// The second look is taken for decisions that end an attempt: a cache may still show the objects of the one before.
package appwrapper

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
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
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Name of the controller, in logs, metrics and as the reporter of events.
const Name = "appwrapper"

// Options of a Reconciler.
type Options struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server. It confirms what must not rest on a stale cache.
	Live client.Reader
	// Wrapped is the cache of wrapped objects, see WrappedCacheOptions.
	Wrapped cache.Cache
	// Discovery tells whether a kind is gone.
	Discovery discovery.ServerResourcesInterface
	// Reviews of access by the webhook. Nil: what nobody has checked is created too.
	Reviews *review.Reviews
	// Recorder of events.
	Recorder events.EventRecorder
	// Metrics that the reconciler counts.
	Metrics *Metrics
	// Clock for grace periods.
	Clock clock.PassiveClock
	// Config of the operator.
	Config settings.AppWrapper
}

// Reconciler makes the world follow AppWrappers.
type Reconciler struct {
	client      client.Client
	live        client.Reader
	kinds       *kinds
	metrics     *Metrics
	clock       clock.PassiveClock
	config      settings.AppWrapper
	reviews     *review.Reviews
	signals     signals.Table
	evacuations *evacuations
	// retries of creations that failed, until the grace period of the attempt is over.
	retries workqueue.TypedRateLimiter[types.UID]
	report  *reporter
}

// New makes a Reconciler.
func New(o Options) *Reconciler {
	table := o.Config.Table()
	if !o.Config.Autopilot.MonitorNodes {
		table = table.WithoutEvacuation()
	}
	return &Reconciler{
		client: o.Client, live: o.Live, metrics: o.Metrics, clock: o.Clock, config: o.Config,
		kinds:       newKinds(o),
		reviews:     o.Reviews,
		signals:     table,
		evacuations: newEvacuations(o.Client, o.Config.NodeHealth.MaxSimultaneousEvacuations),
		retries:     workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](firstRetry, lastRetry),
		report:      newReporter(o.Recorder),
	}
}

// Register adds the controller to a manager.
func (r *Reconciler) Register(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1beta2.AppWrapper{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: appWrapperChanged})).
		Watches(&corev1.Pod{}, podHandler()).
		WatchesRawSource(source.Kind(mgr.GetCache(), &corev1.Node{}, r.nodeHandler())).
		WatchesRawSource(source.Func(r.kinds.start)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

const (
	// firstRetry and lastRetry bound the back-off after a component could not be created.
	firstRetry, lastRetry = 100 * time.Millisecond, 10 * time.Second
	// staleRetry bounds the wait for the cache to catch up. The event that brings the news comes sooner as a rule.
	staleRetry = 200 * time.Millisecond
	// safetyPoll is for what no event tells of.
	safetyPoll = 5 * time.Minute
)

// Reconcile brings one AppWrapper a step further.
func (r *Reconciler) Reconcile(ctx context.Context, aw *v1beta2.AppWrapper) (ctrl.Result, error) {
	if managedElsewhere(aw) {
		return ctrl.Result{}, nil
	}
	r.metrics.initNamespace(aw)
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
	r.reportProblems(s)
	return r.apply(ctx, s, d)
}

// managedElsewhere: another controller, such as that of MultiKueue, answers for the AppWrapper.
func managedElsewhere(aw *v1beta2.AppWrapper) bool {
	return ptr.Deref(aw.Spec.ManagedBy, v1beta2.ControllerName) != v1beta2.ControllerName
}

// carryOut acts, and writes down what was decided if that succeeded.
func (r *Reconciler) apply(ctx context.Context, s *scope, d *policy.Decision) (ctrl.Result, error) {
	if d.Do != policy.Nothing {
		if current, err := r.isCurrent(ctx, s.aw); err != nil || !current {
			return ctrl.Result{RequeueAfter: staleRetry}, err
		}
	}
	d, failed := r.act(ctx, s, d)
	if failed != nil && !isRemoval(d) {
		return retryOnConflict(failed)
	}
	if s.deletionRefused {
		d.Explain(s.facts.Remains)
	}
	if err := r.writeStatus(ctx, s, d); err != nil {
		return retryOnConflict(err)
	}
	if d.Do != policy.Release && d.Do != policy.DeleteObject {
		if err := r.writeRecovering(ctx, s); err != nil {
			return retryOnConflict(err)
		}
	}
	if failed != nil {
		return retryOnConflict(failed)
	}
	return ctrl.Result{RequeueAfter: s.requeueAfter(d)}, nil
}

// removes tells whether the decision is one of a removal. Its clocks run, and what is in its way is told, whatever one of the deletions
// comes to: they are tried again at each pass.
func isRemoval(d *policy.Decision) bool {
	return d != nil && slices.Contains([]policy.Action{policy.Delete, policy.ForcePods, policy.ForceComponents}, d.Do)
}

// next is when to look again if nothing happens.
func (s *scope) requeueAfter(d *policy.Decision) time.Duration {
	next := safetyPoll
	for _, after := range []time.Duration{d.After, s.requeueIn} {
		if after > 0 {
			next = min(next, after)
		}
	}
	if d.After == 0 && finished(d.Next) {
		return 0
	}
	return next
}

func finished(phase v1beta2.AppWrapperPhase) bool {
	return phase == v1beta2.Succeeded || phase == v1beta2.Failed || phase == v1beta2.Suspended
}

// act does what was decided. Only a creation has an outcome that changes the decision.
func (r *Reconciler) act(ctx context.Context, s *scope, d *policy.Decision) (*policy.Decision, error) {
	switch d.Do {
	case policy.AddFinalizer:
		return d, r.setFinalizer(ctx, s.aw, true)
	case policy.Create:
		outcome, err := r.create(ctx, s)
		if err != nil {
			return nil, err
		}
		if outcome.Err == "" || outcome.Fatal {
			r.retries.Forget(s.aw.UID)
		} else {
			outcome.Retry = r.retries.When(s.aw.UID)
		}
		return policy.AfterCreate(&s.facts, outcome), nil
	case policy.Delete:
		return d, r.deleteComponents(ctx, s, false)
	case policy.ForcePods:
		return d, r.forcePods(ctx, s)
	case policy.ForceComponents:
		return d, r.deleteComponents(ctx, s, true)
	case policy.Release:
		r.retries.Forget(s.aw.UID)
		return d, r.setFinalizer(ctx, s.aw, false)
	case policy.DeleteObject:
		return d, r.client.Delete(ctx, s.aw, withUID(s.aw))
	case policy.Nothing:
		return d, nil
	}
	return nil, fmt.Errorf("there is no action %d", d.Do)
}

// scope is all that one reconcile knows. observe fills it; actions write down what they achieved.
type scope struct {
	// aw as observed. Its version moves on with what is written.
	aw    *v1beta2.AppWrapper
	facts policy.Facts
	// components that were looked for, in the order of the spec.
	components []observedComponent
	// pods are shared with the cache and never changed.
	pods []*corev1.Pod
	// problems with annotations, to be reported once each.
	problems []settings.Problem
	// status in the making: observe and the actions keep the entries of the components up to date.
	status *v1beta2.AppWrapperStatus
	// learned: the remains have become better known by trying to remove them.
	deletionRefused bool
	// lookAgain is when a node may turn bad by itself; 0 if none does.
	requeueIn time.Duration
}

// wrapped is one component as it was found.
type observedComponent struct {
	ref      reference
	presence policy.Presence
	// meta of the object; nil unless it is there.
	meta metav1.Object
	// report of the object, or of its end if it is gone.
	report health.Report
}

// isCurrent tells whether the AppWrapper is as it was observed. What was decided for an earlier state of it, such as a removal, must
// not hit what came after.
func (r *Reconciler) isCurrent(ctx context.Context, aw *v1beta2.AppWrapper) (bool, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(v1beta2.Kind))
	err := r.live.Get(ctx, client.ObjectKeyFromObject(aw), live)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("getting the live AppWrapper: %w", err)
	}
	return live.UID == aw.UID && live.ResourceVersion == aw.ResourceVersion, nil
}

// setFinalizer adds or removes the finalizer of the version that was observed.
func (r *Reconciler) setFinalizer(ctx context.Context, aw *v1beta2.AppWrapper, there bool) error {
	before := aw.DeepCopy()
	change := controllerutil.RemoveFinalizer
	if there {
		change = controllerutil.AddFinalizer
	}
	if !change(aw, v1beta2.Finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	status := aw.Status // the answer has the stored one
	if err := r.client.Patch(ctx, aw, patch); err != nil {
		return fmt.Errorf("patching the finalizer: %w", err)
	}
	aw.Status = status
	return nil
}

// again turns a lost race into a second look.
func retryOnConflict(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
