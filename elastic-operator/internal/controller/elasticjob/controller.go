package elasticjob

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs/status,verbs=patch
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods;services,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Name of the controller, in logs, metrics and as the reporter of events: that of the published one. Kueue's framework has its own
// controller for the kind, which is called elasticjob.
const Name = "elastic-job-controller"

// Options of a Reconciler.
type Options struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server. It confirms what must not rest on a stale cache.
	Live client.Reader
	// Recorder of events.
	Recorder events.EventRecorder
	// Metrics that the reconciler counts.
	Metrics *Metrics
	// Clock for all periods.
	Clock clock.PassiveClock
	// RendezvousImage of the managed rendezvous server; empty: there is none.
	RendezvousImage string
	// Agents of jobs that ask for restarts in place.
	Agents plan.Agents
	// Rendezvous asks a server what it knows. nil: it is not asked.
	Rendezvous RendezvousReader
}

// Reconciler makes the world follow ElasticJobs.
type Reconciler struct {
	Options

	expected *expectations
	asked    *intervals
}

// New makes a Reconciler.
func New(o Options) *Reconciler {
	return &Reconciler{Options: o, expected: newExpectations(o.Clock), asked: newIntervals(o.Clock)}
}

// Register adds the controller to a manager.
func (r *Reconciler) Register(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.ElasticJob{}).
		Watches(&corev1.Pod{}, podEvents()).
		Watches(&corev1.Service{}, serviceEvents()).
		WatchesRawSource(source.Kind(mgr.GetCache(), &corev1.Node{}, r.nodeEvents())).
		WatchesRawSource(source.Kind(mgr.GetCache(), &v1alpha1.ElasticJob{}, r.jobEvents())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: retries()}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// longestRetry after an error: a pod that the API server refuses must not hold up the clocks of its job, which are not set after an error.
const longestRetry = 15 * time.Second

func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, longestRetry)
}

// staleRetry bounds the wait for the cache to catch up. The event of the change comes sooner as a rule.
const staleRetry = 200 * time.Millisecond

// Reconcile observes one job, decides, writes the decision to its status, and acts on it.
func (r *Reconciler) Reconcile(ctx context.Context, job *v1alpha1.ElasticJob) (ctrl.Result, error) {
	if managedElsewhere(job) {
		return ctrl.Result{}, nil
	}
	s, err := r.observe(ctx, job)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.observeRendezvous(ctx, s)
	d := policy.Decide(&s.facts)
	if !d.Rendezvous {
		s.forgetRendezvous()
	}
	written, err := r.writeStatus(ctx, s, d)
	if err != nil {
		return again(err)
	}
	if s.facts.Deleted {
		return ctrl.Result{}, nil
	}
	if !written && acts(d) {
		if current, err := r.isCurrent(ctx, job); err != nil || !current {
			return ctrl.Result{RequeueAfter: staleRetry}, err
		}
	}
	if written {
		r.followUp(s, d)
	}
	if err := r.mark(ctx, s, d); err != nil {
		return again(err)
	}
	if err := r.act(ctx, s, d); err != nil {
		return again(err)
	}
	return ctrl.Result{RequeueAfter: soonest(d.After, s.askAgain)}, nil
}

// managedElsewhere: another controller, such as that of MultiKueue, answers for the job.
func managedElsewhere(job *v1alpha1.ElasticJob) bool {
	return ptr.Deref(job.Spec.ManagedBy, v1alpha1.ControllerName) != v1alpha1.ControllerName
}

func acts(d *policy.Decision) bool { return len(d.Create)+len(d.Delete) > 0 || d.RemoveJob }

// act does what was decided. All of it can be done again.
func (r *Reconciler) act(ctx context.Context, s *scope, d *policy.Decision) error {
	if d.RemoveJob {
		return r.removeJob(ctx, s.job)
	}
	return errors.Join(
		r.deletePods(ctx, s, d),
		r.ensureRendezvous(ctx, s, d),
		r.ensureServices(ctx, s, d),
		r.createPods(ctx, s, d),
	)
}

func soonest(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// again requeues after a conflict.
func again(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
