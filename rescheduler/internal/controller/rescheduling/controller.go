package rescheduling

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/rescheduler/internal/blame"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Name of the controller, and of who writes.
const (
	Name       = "rescheduler"
	fieldOwner = client.FieldOwner("holdfast-rescheduler")
)

// chains finds who answers for a pod: an owners.Resolver.
type chains interface {
	Of(ctx context.Context, pod metav1.Object) (owners.Chain, error)
}

// Options are what a Reconciler is made of.
type Options struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Owners finds who answers for a pod.
	Owners chains
	// Ledger is that of Owners.
	Ledger   *owners.Ledger
	Recorder events.EventRecorder
	Metrics  *Metrics
	Clock    clock.PassiveClock
	Config   settings.Rescheduling
}

// Reconciler answers for pods.
type Reconciler struct {
	client  client.Client
	live    client.Reader
	owners  chains
	ledger  *owners.Ledger
	report  *reporter
	metrics *Metrics
	clock   clock.PassiveClock
	config  settings.Rescheduling
	table   signals.Table
	rules   policy.Rules
	diary   *diary
	// lifted are pods whose exclusions were lifted, by their UID: they get no others.
	lifted *lru.Cache
	// unfilled are workloads, by their UID, of whose pods some have not been given the exclusions that were written last.
	unfilled *lru.Cache
	family   *family
	woken    chan event.GenericEvent

	mu      sync.Mutex
	budgets *policy.Budgets
	board   *blame.Board
	// tainting are nodes and when they were tainted, until the cache shows it.
	tainting map[string]time.Time
}

// New makes a Reconciler that has seen nothing yet.
func New(o Options) *Reconciler {
	b := o.Config.Blame
	r := &Reconciler{
		client: o.Client, live: o.Live, owners: o.Owners, ledger: o.Ledger, metrics: o.Metrics, clock: o.Clock, config: o.Config,
		report: newReporter(o.Recorder), table: o.Config.Table(), rules: o.Config.Rules(), budgets: o.Config.Budgets(),
		diary: newDiary(), lifted: lru.New(noted), unfilled: lru.New(noted), family: newFamily(), woken: make(chan event.GenericEvent, 64),
		tainting: map[string]time.Time{},
		board: blame.New(blame.Rules{
			Threshold: b.Threshold, Window: time.Duration(b.Window), MinPods: b.MinPods, MinWorkloads: b.MinWorkloads,
			MaxNodes: b.MaxNodes, MaxShare: b.MaxShare,
		}),
	}
	open := r.breakerOpen
	o.Metrics.breaker.Store(&open)
	tainted := r.taintedNodes
	o.Metrics.tainted.Store(&tainted)
	return r
}

// The owners of pods: those of Kubernetes, of this project, and of the usual operators. Others come by aggregation, see the chart.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=nodes;namespaces,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims;persistentvolumes;replicationcontrollers,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=podgroups,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments;replicasets;statefulsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=batch,resources=jobs;cronjobs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=workload.codeflare.dev,resources=appwrappers,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=leaderworkerset.x-k8s.io,resources=leaderworkersets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kubeflow.org,resources=pytorchjobs;mpijobs;tfjobs;xgboostjobs;jaxjobs;paddlejobs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=trainer.kubeflow.org,resources=trainjobs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters;rayjobs;rayservices,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=argoproj.io,resources=rollouts,verbs=get;list;watch;patch

// Register the controller.
func (r *Reconciler) Register(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&corev1.Pod{}).
		WatchesRawSource(source.Channel(r.woken, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile looks at one pod.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	if !pod.DeletionTimestamp.IsZero() || slices.Contains(r.config.ExcludedNamespaces, pod.Namespace) {
		return ctrl.Result{}, nil
	}
	s, err := r.observe(ctx, pod)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	if err := r.welcome(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case pod.Spec.NodeName == "":
		return r.unbound(ctx, s)
	case len(s.matches) > 0:
		return r.answer(ctx, s)
	default:
		return r.restore(ctx, s)
	}
}

// welcome labels a pod, and for the first one of a new controller publishes what the others have to avoid. Where that fails the next pod
// of the controller is the first one.
func (r *Reconciler) welcome(ctx context.Context, s *scope) error {
	err := r.label(ctx, s)
	if err == nil && s.newcomer && s.excludes() {
		err = r.publish(ctx, s)
	}
	if err != nil && s.newcomer {
		r.family.forget(s.chain.Root().UID, s.chain.Direct().UID)
	}
	return err
}

// soonest of two periods, of which 0 is never.
func soonest(a, b time.Duration) time.Duration {
	switch {
	case a <= 0:
		return max(0, b)
	case b <= 0:
		return a
	}
	return min(a, b)
}
