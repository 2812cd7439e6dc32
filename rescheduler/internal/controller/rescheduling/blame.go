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
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

const (
	// TaintKey is the key of the taint on nodes where too many pods failed. Its effect is NoSchedule, so running pods stay.
	TaintKey = "holdfast.dev/pods-fail-here"
	// TaintUntil is the annotation that says when the taint is removed, in RFC 3339 format.
	TaintUntil = "holdfast.dev/pods-fail-here-until"
)

// blame adds the failure to the complaints about the node, if taints are enabled.
func (r *Reconciler) blame(s *scope, d *policy.Decision) {
	if !r.Config.Blame.Taint || d.Blame == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints.Add(s.pod.Spec.NodeName, string(s.pod.UID), string(s.subject.UID), d.Blame, s.now)
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
		if r.countsAsTainted(&all.All[i]) {
			count++
		}
	}
	if node == nil || r.countsAsTainted(node) || !r.complaints.MayTaint(count, len(all.All)) {
		return nil
	}
	if added, err := r.addTaint(ctx, node, s.now); err != nil || !added {
		return err // deleted, or already tainted
	}
	r.tainting.Add(name, nil, cacheDelay)
	r.complaints.Clear(name)
	r.Recorder.Eventf(node.DeepCopy(), nil, corev1.EventTypeWarning, reasonTainted, "Taint",
		"pods of several workloads failed on this node: no new pods are scheduled to it for %s", r.Config.Blame.TTL.Duration)
	return nil
}

// cacheDelay is how long a taint may take to become visible in the cache.
const cacheDelay = time.Minute

// countsAsTainted reports whether the node is tainted, according to the cache or to a recent write that is not in the cache yet. Both count
// toward the limit.
func (r *Reconciler) countsAsTainted(node *corev1.Node) bool {
	if isTainted(node) {
		r.tainting.Remove(node.Name)
		return true
	}
	_, written := r.tainting.Get(node.Name)
	return written
}

func (r *Reconciler) addTaint(ctx context.Context, cached *corev1.Node, now time.Time) (added bool, err error) {
	var node corev1.Node // the cached copy is incomplete
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cached), &node); err != nil || isTainted(&node) {
		return false, client.IgnoreNotFound(err)
	}
	after := node.DeepCopy()
	after.Spec.Taints = append(after.Spec.Taints, corev1.Taint{Key: TaintKey, Effect: corev1.TaintEffectNoSchedule})
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, TaintUntil, now.Add(r.Config.Blame.TTL.Duration).UTC().Format(time.RFC3339))
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

// watchTaints adds the controller that removes expired taints. It runs only if taints are enabled, because without them the manager has no
// permission to modify nodes.
func (r *Reconciler) watchTaints(mgr ctrl.Manager) error {
	if !r.Config.Blame.Taint || r.Config.DryRun {
		return nil
	}
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { _, found := o.GetAnnotations()[TaintUntil]; return found })
	return ctrl.NewControllerManagedBy(mgr).
		Named("taint-expiry").
		For(&corev1.Node{}, builder.WithPredicates(ours)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(reconcile.Func(r.expireTaint))
}

// expireTaint handles one node. A time that cannot be parsed is treated as expired.
func (r *Reconciler) expireTaint(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	var node corev1.Node // the cached copy is incomplete
	if err := r.Live.Get(ctx, request.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	until, err := time.Parse(time.RFC3339, node.Annotations[TaintUntil])
	if left := until.Sub(r.Clock.Now()); err == nil && left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	after := node.DeepCopy()
	after.Spec.Taints = slices.DeleteFunc(after.Spec.Taints, isOurs)
	delete(after.Annotations, TaintUntil)
	if err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(&node, client.MergeFromWithOptimisticLock{}), fieldOwner); err != nil {
		return requeue.OnError(err)
	}
	return ctrl.Result{}, nil
}
