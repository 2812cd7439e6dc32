package rescheduling

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

const (
	// TaintKey is the taint of nodes on which too many pods failed. Its effect is NoSchedule, so running pods stay.
	TaintKey = "holdfast.dev/pods-fail-here"
	// TaintUntil is the annotation with the time at which the taint is removed, in RFC 3339 format.
	TaintUntil = "holdfast.dev/pods-fail-here-until"
)

// blame adds the failure to the complaints about the node, if taints are enabled.
func (r *Reconciler) blame(s *scope, m signals.Match, d *policy.Decision) {
	if !r.Config.Blame.Taint || d.Blame == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints.Add(s.pod.Spec.NodeName, string(s.pod.UID), string(s.subject.UID), m.Row.Blame, s.now)
}

// taint taints the node if enough pods of several workloads have failed on it. The number of tainted nodes is limited.
func (r *Reconciler) taint(ctx context.Context, s *scope) error {
	if !r.Config.Blame.Taint || r.Config.DryRun {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := s.pod.Spec.NodeName
	if !r.complaints.Suffice(name, s.now) {
		return nil
	}
	all, err := r.Nodes.List(ctx)
	if err != nil {
		return err
	}
	node, count := all.Get(name), 0
	for i := range all.All {
		if r.isTaintedBy(s.now, &all.All[i]) {
			count++
		}
	}
	if node == nil || r.isTaintedBy(s.now, node) || !r.complaints.MayTaint(count, len(all.All)) {
		return nil
	}
	if added, err := r.addTaint(ctx, node, s.now); err != nil || !added {
		return err // deleted, or already tainted
	}
	r.tainting[name] = s.now
	r.complaints.Clear(name)
	r.report.recorder.Eventf(node.DeepCopy(), nil, corev1.EventTypeWarning, reasonTainted, "Taint",
		"pods of several workloads failed here: no new ones for %s", time.Duration(r.Config.Blame.TTL))
	return nil
}

// taintedNodes counts the tainted nodes, for the metric.
func (r *Reconciler) taintedNodes() (n float64) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a scrape must not wait for a cache that does not sync
	defer cancel()
	all, err := r.Nodes.List(ctx)
	if err != nil {
		return 0
	}
	for i := range all.All {
		if isTainted(&all.All[i]) {
			n++
		}
	}
	return n
}

// cacheDelay is how long a taint may take to become visible in the cache.
const cacheDelay = time.Minute

// isTaintedBy reports whether the node is tainted, according to the cache or to recent writes that are not in the cache yet. Both count
// towards the limit.
func (r *Reconciler) isTaintedBy(now time.Time, node *corev1.Node) bool {
	written, found := r.tainting[node.Name]
	if isTainted(node) || now.Sub(written) >= cacheDelay {
		delete(r.tainting, node.Name)
		found = false
	}
	return found || isTainted(node)
}

func (r *Reconciler) addTaint(ctx context.Context, cached *corev1.Node, now time.Time) (added bool, err error) {
	var node corev1.Node // the cached copy is incomplete
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cached), &node); err != nil || isTainted(&node) {
		return false, client.IgnoreNotFound(err)
	}
	after := node.DeepCopy()
	after.Spec.Taints = append(after.Spec.Taints, corev1.Taint{Key: TaintKey, Effect: corev1.TaintEffectNoSchedule})
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, TaintUntil, now.Add(time.Duration(r.Config.Blame.TTL)).UTC().Format(time.RFC3339))
	if err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(&node, client.MergeFromWithOptimisticLock{}), fieldOwner); err != nil {
		return false, fmt.Errorf("tainting node %s: %w", node.Name, err)
	}
	return true, nil
}

func isTainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isOurs)
}

func isOurs(t corev1.Taint) bool {
	return t.Key == TaintKey && t.Effect == corev1.TaintEffectNoSchedule
}

// taintExpiry removes expired taints. It runs only if taints are enabled, because without them the manager has no permission to modify
// nodes.
type taintExpiry struct{ *Reconciler }

// register adds the controller to the manager.
func (p taintExpiry) register(mgr ctrl.Manager) error {
	if !p.Config.Blame.Taint || p.Config.DryRun {
		return nil
	}
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { _, found := o.GetAnnotations()[TaintUntil]; return found })
	return ctrl.NewControllerManagedBy(mgr).
		Named("taint-expiry").
		For(&corev1.Node{}, builder.WithPredicates(ours)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), p))
}

// Reconcile handles one node. A time that cannot be parsed is treated as expired.
func (p taintExpiry) Reconcile(ctx context.Context, node *corev1.Node) (ctrl.Result, error) {
	until, err := time.Parse(time.RFC3339, node.Annotations[TaintUntil])
	if left := until.Sub(p.Clock.Now()); err == nil && left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	var whole corev1.Node
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(node), &whole); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	after := whole.DeepCopy()
	after.Spec.Taints = slices.DeleteFunc(after.Spec.Taints, isOurs)
	delete(after.Annotations, TaintUntil)
	if err := p.Client.Patch(ctx, after, client.MergeFromWithOptions(&whole, client.MergeFromWithOptimisticLock{}), fieldOwner); err != nil {
		return again(err)
	}
	return ctrl.Result{}, nil
}
