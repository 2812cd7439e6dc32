// Package elasticjob reconciles ElasticJobs: it observes the pods and services of a job, decides with package policy, writes the decision to
// the status, and carries it out.
package elasticjob

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs/status,verbs=patch
// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods;services,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// Name is the name of the controller in logs, metrics and events. The upstream controller uses the same name. The Kueue framework runs
// another controller for the kind, which is named elasticjob.
const Name = "elastic-job-controller"

var kind = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)

// Options configures a Reconciler.
type Options struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server, for decisions that must not depend on a stale cache.
	Live     client.Reader
	Recorder events.EventRecorder
	Metrics  *Metrics
	// RendezvousImage is the managed rendezvous server's image. If it is empty, there is no managed rendezvous.
	RendezvousImage string
	// Agents configures in-place restarts.
	Agents plan.Agents
	// Rendezvous reads the status of a rendezvous server.
	Rendezvous RendezvousReader
}

// Reconciler reconciles ElasticJobs.
type Reconciler struct {
	Options

	// notBefore holds the earliest times for the next reconcile of a recently changed job and for the next status request to a rendezvous
	// server.
	notBefore *utilcache.Expiring
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	return &Reconciler{Options: o, notBefore: utilcache.NewExpiring()}
}

// Register adds the controller to a manager.
func (r *Reconciler) Register(mgr ctrl.Manager) error {
	retries := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, maxRetryDelay)
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha1.ElasticJob{}).
		Owns(&corev1.Service{}). // a deleted Service is created again
		WatchesRawSource(source.Kind(mgr.GetCache(), &corev1.Pod{}, onEvents(enqueue[*corev1.Pod], podChanged))).
		WatchesRawSource(source.Kind(mgr.GetCache(), &corev1.Node{}, onEvents(r.enqueueNode, nodeChanged))).
		WithOptions(controller.Options{RateLimiter: retries}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// maxRetryDelay is the longest delay after an error. It is short because the job's deadlines are not scheduled after an error, for example
// while the API server is rejecting a pod.
const maxRetryDelay = 15 * time.Second

// Reconcile observes a job, decides what to do, writes the decision to its status, and carries it out.
func (r *Reconciler) Reconcile(ctx context.Context, job *v1alpha1.ElasticJob) (ctrl.Result, error) {
	if managedElsewhere(job) || job.DeletionTimestamp != nil { // the garbage collector deletes the objects of a deleted job
		return ctrl.Result{}, nil
	}
	if pause := r.wait(writtenJob(job.UID)); pause > 0 {
		return ctrl.Result{RequeueAfter: pause}, nil
	}
	s, err := r.observe(ctx, job)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.observeRendezvous(ctx, s)
	d := policy.Decide(&s.facts)
	if !d.Rendezvous {
		s.clearRendezvous()
	}
	written, err := r.writeStatus(ctx, s, d)
	if err != nil {
		return requeue.OnError(err)
	}
	if written {
		r.report(s, d)
	} else if len(d.Create)+len(d.Delete) > 0 || d.RemoveJob { // no status write has confirmed that the job is current
		if current, err := requeue.IsCurrent(ctx, r.Live, kind, job); err != nil || !current {
			return ctrl.Result{RequeueAfter: requeue.Stale}, err
		}
	}
	if err := r.annotate(ctx, s, d); err != nil {
		return requeue.OnError(err)
	}
	if err := r.act(ctx, s, d); err != nil {
		return requeue.OnError(err)
	}
	return ctrl.Result{RequeueAfter: requeue.Soonest(d.After, s.requestAfter)}, nil
}

// writtenJob is the UID of a job whose pods or services were changed. The next reconcile waits for requeue.Stale, because it would repeat
// the writes if the cache were stale. Fixed names and UIDs make repeated writes harmless, but each of them is an API call.
type writtenJob types.UID

// delay starts a delay for the key. Until it ends, wait returns the remaining time.
func (r *Reconciler) delay(key any, delay time.Duration) {
	r.notBefore.Set(key, time.Now().Add(delay), delay)
}

// wait returns how long to wait before the action with this key, or 0.
func (r *Reconciler) wait(key any) time.Duration {
	until, found := r.notBefore.Get(key)
	if !found {
		return 0
	}
	return max(time.Until(until.(time.Time)), time.Millisecond)
}

// managedElsewhere reports whether another controller manages the job, such as MultiKueue.
func managedElsewhere(job *v1alpha1.ElasticJob) bool {
	return ptr.Deref(job.Spec.ManagedBy, v1alpha1.ControllerName) != v1alpha1.ControllerName
}

// act carries out the decision. Every step is idempotent.
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
