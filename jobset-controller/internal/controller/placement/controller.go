// Package placement keeps the pods of exclusively placed Jobs together: it releases followers once their leader has a
// node, and evicts followers that are in a different domain than their leader. Package plan/exclusive makes the
// decisions.
//
//	pods of a Job ──> observe (cache: pods by owner, nodes' labels) ──> exclusive.Plan ──> release, evict, report
package placement

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// Name is the name of the controller in logs, metrics and events.
const Name = "placement"

// retry is the delay before the next reconcile if the leader's node lacks the label, or if followers have no leader.
// Nodes are not watched, and after index 0 has finished, no pod event signals that no leader will appear.
const retry = 10 * time.Second

// Reconciler keeps each Job's pods in one domain.
type Reconciler struct {
	client   client.Client
	domains  Domains
	recorder events.EventRecorder
	reported *lru.Cache
}

// New returns a Reconciler. The client reads from the cache.
func New(c client.Client, recorder events.EventRecorder) *Reconciler {
	return &Reconciler{client: c, domains: Domains{c}, recorder: recorder, reported: lru.New(cacheSize)}
}

// Register adds the controller to a manager. It reconciles a Job when a relevant part of one of its pods changes.
func (r *Reconciler) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		Watches(&corev1.Pod{}, podEvents()).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// scope holds everything known in one reconcile.
type scope struct {
	job      *batchv1.Job
	topology string
	anchor   *corev1.Pod
	// domain is the domain of the anchor, or "" if its node lacks the label.
	domain string
	// leaderless is a follower waiting for a missing leader, or nil if there is none.
	leaderless *corev1.Pod
	moves      exclusive.Moves
}

// Reconcile releases and evicts a Job's followers, and promotes a follower if no leader will appear.
func (r *Reconciler) Reconcile(ctx context.Context, job *batchv1.Job) (ctrl.Result, error) {
	s, err := r.observe(ctx, job)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	r.report(s)
	if s.anchor != nil && s.domain == "" {
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	if err := errors.Join(r.promote(ctx, s), r.release(ctx, s), r.evict(ctx, s)); err != nil {
		return ctrl.Result{}, err
	}
	if s.leaderless != nil {
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	return ctrl.Result{}, nil
}

// observe reads what a reconcile needs. It returns nil for a Job without exclusively placed pods.
func (r *Reconciler) observe(ctx context.Context, job *batchv1.Job) (*scope, error) {
	pods, err := r.domains.pods(ctx, string(job.UID))
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	s := &scope{job: job, topology: exclusive.Topology(pods[0]), anchor: exclusive.Anchor(pods)}
	if s.anchor == nil {
		if exclusive.Leader(pods) == nil {
			s.leaderless = exclusive.Waiting(pods)
		}
		return s, nil
	}
	if s.domain, err = r.domains.ofNode(ctx, s.anchor.Spec.NodeName, s.topology); err != nil || s.domain == "" {
		return s, err
	}
	var failure error
	s.moves = exclusive.Plan(pods, s.domain, func(node string) string {
		domain, err := r.domains.ofNode(ctx, node, s.topology)
		failure = errors.Join(failure, err)
		return domain
	})
	return s, failure
}
