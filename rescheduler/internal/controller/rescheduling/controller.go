// Package rescheduling contains the controller. It observes abnormal pods, records their nodes on the root owner, and moves the pods by
// eviction. Package policy decides what to do and why.
//
//	pod event ─ observe ─ unbound ──── fill:    add exclusions recorded after its admission
//	                    │            └ relax:   replace it if node affinity leaves it no node
//	                    ├ abnormal ─── decide, record on the root owner, evict
//	                    └ healthy ──── restore: stop counting its moves, drop expired entries
package rescheduling

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	expiring "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/rescheduler/internal/nodes"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// Names of the controller and of its field manager.
const (
	Name       = "rescheduler"
	fieldOwner = client.FieldOwner("holdfast-rescheduler")
)

// chains finds the owners of a pod. owners.Resolver implements it.
type chains interface {
	Of(ctx context.Context, pod metav1.Object) (owners.Chain, error)
}

// Options configures a Reconciler.
type Options struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live   client.Reader
	Nodes  *nodes.Lister
	Owners chains
	// Ledger is the ledger used by Owners.
	Ledger   *owners.Ledger
	Recorder events.EventRecorder
	Registry prometheus.Registerer // for the metrics
	Clock    clock.PassiveClock
	Config   settings.Rescheduling
}

// Reconciler reconciles pods.
type Reconciler struct {
	Options

	metrics  *metrics
	table    signals.Table
	observed *observationTimes
	// reported holds the last report about each pod.
	reported *lru.Cache
	// censuses holds the cached censuses, by the workload's UID.
	censuses  *expiring.LRUExpireCache
	ownership *ownership
	woken     chan event.GenericEvent
	// failed holds pods in the Failed phase by name, from the watch event that shows the failure until they are reconciled. A StatefulSet
	// deletes a failed pod within milliseconds and reuses its name for the replacement. The cache may then contain only the terminating pod
	// or the replacement, and the failure would be missed. If the process restarts, the pods held here are lost.
	failed sync.Map

	roomsMu sync.Mutex
	// rooms holds the free resources of nodes to which pending pods may return, by the node's name.
	rooms *expiring.LRUExpireCache

	mu         sync.Mutex
	budgets    *policy.Budgets
	complaints *policy.Complaints
	// tainting holds the names of nodes that were tainted, until the taints are in the cache.
	tainting *expiring.LRUExpireCache
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	cache := func() *expiring.LRUExpireCache { return expiring.NewLRUExpireCacheWithClock(noted, o.Clock) }
	r := &Reconciler{
		Options: o, table: o.Config.Table(), observed: &observationTimes{lru.New(noted)}, reported: lru.New(maxReported),
		censuses: cache(), ownership: newOwnership(),
		woken: make(chan event.GenericEvent, 64), rooms: cache(),
		budgets: policy.NewBudgets(o.Config.Limits, o.Config.Breaker), complaints: policy.NewComplaints(o.Config.Blame), tainting: cache(),
	}
	r.metrics = newMetrics(o.Registry, o.Config, r.breakerOpen)
	return r
}

// Owners of pods: kinds from Kubernetes, from this project, and from common operators. Permissions for other kinds are aggregated; see the
// chart.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=nodes;namespaces,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims;persistentvolumes;replicationcontrollers,verbs=get
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

// Register adds the controller to the manager, along with the sweep for controllers without pods and the controller that removes expired
// taints.
func (r *Reconciler) Register(mgr ctrl.Manager) error {
	if err := mgr.Add(r); err != nil {
		return err
	}
	if err := r.watchTaints(mgr); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		Watches(&corev1.Pod{}, r.watchPods()).
		WatchesRawSource(source.Channel(r.woken, &handler.EnqueueRequestForObject{})).
		Complete(reconcile.Func(r.reconcile))
}

// Reconcile decides what to do about one pod, based on its last observed state, and carries out the decision.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	if !pod.DeletionTimestamp.IsZero() || !r.Config.Manages(pod.Namespace) {
		return ctrl.Result{}, nil
	}
	s, err := r.observe(ctx, pod)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	if err := r.label(ctx, pod.Namespace); err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case pod.Spec.NodeName == "":
		return r.unbound(ctx, s)
	case len(s.matches) > 0:
		return r.decideAndAct(ctx, s)
	default:
		return r.restore(ctx, s)
	}
}

// lock locks the workload for a decision about the pod. If another decision is in progress, the pod is reconciled again afterwards.
func (r *Reconciler) lock(s *scope) (unlock func(), locked bool) {
	release, locked := r.Ledger.TryLock(s.subject.UID, client.ObjectKeyFromObject(s.pod))
	if !locked {
		return nil, false
	}
	s.subject = r.Ledger.Latest(s.subject)
	s.read()
	return func() { r.enqueue(release()...) }, true
}

// contended is the delay before a pod is reconciled again if it was not enqueued when the lock was released.
const contended = 5 * time.Second

func (r *Reconciler) enqueue(pods ...client.ObjectKey) {
	for _, key := range pods {
		r.woken <- event.GenericEvent{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}}
	}
}

// goneFor is how long a failed pod is still handled after it was deleted.
const goneFor = 2 * time.Minute

// noteFailed records a pod that has failed on a node. A failure after the deletion is not evidence against the node. Failures of a bare pod
// are not recorded after it has ended.
func (r *Reconciler) noteFailed(pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodFailed && pod.Spec.NodeName != "" && pod.DeletionTimestamp.IsZero() && owners.ControllerUID(pod) != "" {
		r.failed.Store(client.ObjectKeyFromObject(pod), pod)
	}
}

// dropFailed removes a pod that was handled, unless another pod with the same name has failed since.
func (r *Reconciler) dropFailed(pod *corev1.Pod) {
	key := client.ObjectKeyFromObject(pod)
	if known, found := r.failed.Load(key); found && known.(*corev1.Pod).UID == pod.UID {
		r.failed.CompareAndDelete(key, known)
	}
}

// watchPods enqueues every changed pod, and records pods that have failed.
func (r *Reconciler) watchPods() handler.EventHandler {
	return requeue.OnEvents(func(q requeue.Queue, _, o client.Object) {
		if pod, ok := o.(*corev1.Pod); ok {
			r.noteFailed(pod)
		}
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	})
}

// reconcile handles the pod that currently has this name. If an earlier pod with the name has failed and is now deleted or terminating, it
// handles that pod first.
func (r *Reconciler) reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	var pod corev1.Pod
	err := r.Client.Get(ctx, request.NamespacedName, &pod)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	stays := err == nil && pod.DeletionTimestamp.IsZero()
	var result ctrl.Result
	known, _ := r.failed.Load(request.NamespacedName)
	if failed, found := known.(*corev1.Pod); found && (!stays || failed.UID != pod.UID) {
		if result, err = r.reconcileGone(ctx, failed); err != nil {
			return ctrl.Result{}, err
		}
	}
	if !stays {
		return result, nil
	}
	now, err := r.Reconcile(ctx, &pod)
	if err == nil && now.RequeueAfter == 0 && pod.Status.Phase == corev1.PodFailed { // the failure is in the cache
		r.dropFailed(&pod)
	}
	return ctrl.Result{RequeueAfter: requeue.Soonest(result.RequeueAfter, now.RequeueAfter)}, err
}

// reconcileGone handles a failed pod that is deleted or terminating. It drops the pod when no further reconcile is needed, or after
// goneFor.
func (r *Reconciler) reconcileGone(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	result, err := r.Reconcile(ctx, pod.DeepCopy())
	if waits := err != nil || result.RequeueAfter > 0; waits && r.Clock.Now().Sub(signals.FailedAt(pod)) < goneFor {
		return result, err
	}
	r.dropFailed(pod)
	return ctrl.Result{}, err
}
