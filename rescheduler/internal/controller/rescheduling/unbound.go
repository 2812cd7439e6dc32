package rescheduling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/series"
)

// unbound handles pods that are not bound yet.
func (r *Reconciler) unbound(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.pod.Status.Phase != corev1.PodPending && s.pod.Status.Phase != "" {
		return ctrl.Result{}, nil
	}
	stuck := unschedulable(s.pod)
	if err := r.fill(ctx, s, s.pod); err != nil || stuck == nil {
		return ctrl.Result{}, err
	}
	return r.relax(ctx, s, stuck.LastTransitionTime.Time)
}

// unschedulable returns the condition that says that the scheduler could not find a node for the pod, or nil if there is none.
func unschedulable(pod *corev1.Pod) *corev1.PodCondition {
	c := signals.Condition(pod, corev1.PodScheduled)
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable {
		return nil
	}
	return c
}

// fillFamily adds the exclusions to all pods of the workload that were admitted before the failure was recorded and are not bound yet. When
// the moves are used up, it removes the exclusions. If that fails for a pod, the pod is enqueued, because its own reconcile is repeated until
// it succeeds.
func (r *Reconciler) fillFamily(ctx context.Context, s *scope) error {
	if s.bare() {
		return nil
	}
	var problem error
	if s.memory.Exhausted {
		problem = r.fill(ctx, s, s.pod)
	}
	var failed []client.ObjectKey
	err := r.kin(ctx, s.subject.UID, s.pod.Namespace, func(pod *corev1.Pod) {
		if pod.Spec.NodeName == "" && pod.DeletionTimestamp.IsZero() && r.fill(ctx, s, pod) != nil {
			failed = append(failed, client.ObjectKeyFromObject(pod))
		}
	})
	r.enqueue(failed...)
	return errors.Join(problem, err)
}

// kin calls visit for each pod of the workload, regardless of which of its controllers owns the pod.
func (r *Reconciler) kin(ctx context.Context, workload types.UID, namespace string, visit func(*corev1.Pod)) error {
	for _, direct := range r.ownership.of(workload) {
		var pods corev1.PodList
		if err := r.Client.List(ctx, &pods, client.InNamespace(namespace), byOwner(direct), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing pods of the workload: %w", err)
		}
		for i := range pods.Items {
			visit(&pods.Items[i])
		}
	}
	return nil
}

// fill annotates a pod that is not bound yet. Only the plugin reads the annotation, because node affinity is immutable.
func (r *Reconciler) fill(ctx context.Context, s *scope, pod *corev1.Pod) error {
	have := memory.Hosts(pod.Annotations)
	if r.Config.DryRun || placement.Placed(pod) || s.bare() {
		return nil
	}
	m := s.memory
	if s.chain.OneTemplate(pod) {
		m = m.For(owners.Template(pod))
	}
	if m.Exhausted {
		if len(have) == 0 {
			return nil
		}
		return r.annotate(ctx, pod, "")
	}
	if liftedByPlugin(pod, have) {
		return nil
	}
	all, err := r.Nodes.List(ctx)
	if err != nil {
		return err
	}
	want := m.Exclusions(memory.MaxHosts, owners.Slot(pod), s.now, all.UID)
	if !slices.ContainsFunc(want, func(node string) bool { return !slices.Contains(have, node) }) {
		return nil
	}
	err = r.annotate(ctx, pod, memory.FormatHosts(memory.MergeHosts(want, have)))
	if err == nil {
		r.metrics.Inc(series.FilledPods)
	}
	return err
}

// liftedByPlugin reports whether the plugin rejected nodes for the pod and has since removed the annotation.
func liftedByPlugin(pod *corev1.Pod, have []string) bool {
	stuck := unschedulable(pod)
	return len(have) == 0 && stuck != nil && strings.Contains(stuck.Message, memory.FilterMessage)
}

// annotate sets the pod's exclusions, or removes them if hosts is empty. If the pod has changed, the resulting event triggers another
// reconcile.
func (r *Reconciler) annotate(ctx context.Context, pod *corev1.Pod, hosts string) error {
	before := metadataOf(pod)
	after := before.DeepCopy()
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, memory.HostsAnnotation, hosts)
	if hosts == "" {
		delete(after.Annotations, memory.HostsAnnotation)
	}
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), fieldOwner)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
	}
	return nil
}

const (
	// relaxFor is how long a workload's exclusions are lifted after one of its pods could not be scheduled.
	relaxFor = 10 * time.Minute
	// notYet is the delay before checking again whether a pod would fit without its exclusions. Changes to nodes do not trigger a reconcile of
	// pods.
	notYet = time.Minute
)

// relax replaces a pod that cannot be scheduled because of its node affinity, which is immutable, with a pod without the affinity: an
// unwanted node is better than none. The replacement counts as a move and is limited like one. If the exclusions are only in the
// annotation, the plugin handles them.
func (r *Reconciler) relax(ctx context.Context, s *scope, since time.Time) (ctrl.Result, error) {
	hosts := memory.Hosts(s.pod.Annotations)
	if !placement.Avoids(s.pod, hosts) || s.bare() && !r.Config.BarePods.Recreate { // no controller would recreate it
		return ctrl.Result{}, nil
	}
	if left := max(r.Config.RelaxAfter.Duration-s.now.Sub(since), recoveringUntil(s).Sub(s.now)); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	why, err := r.mayNotRelax(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	if why != "" {
		r.warn(ctx, s, signals.Match{}, policy.NotMovable, why)
		return ctrl.Result{}, nil
	}
	unlock, locked := r.lock(s)
	if !locked {
		return ctrl.Result{RequeueAfter: contended}, nil
	}
	defer unlock()
	host, err := r.findRoom(ctx, s, hosts)
	if err != nil || host == "" {
		return ctrl.Result{RequeueAfter: notYet}, err
	}
	return r.replace(ctx, s, host)
}

// mayNotRelax returns why the pod must not be replaced, or "" if it may be.
func (r *Reconciler) mayNotRelax(ctx context.Context, s *scope) (why string, err error) {
	if why := protection(s.pod); why != "" {
		return "no other node fits the pod, and it is never moved: " + why, nil
	}
	whole, err := r.whole(ctx, s.pod)
	if err != nil || whole {
		return "no other node fits the pod, and its group may only be disrupted as a whole", err
	}
	counts, err := r.jobCounts(ctx, s)
	if err != nil || counts {
		return "no other node fits the pod, and its Job would count the eviction as a failure: let the podFailurePolicy of the Job ignore DisruptionTarget", err
	}
	return "", nil
}

// jobCounts reports whether the pod's Job would count its eviction as a failure.
func (r *Reconciler) jobCounts(ctx context.Context, s *scope) (bool, error) {
	if s.bare() || s.chain.Direct().GroupVersionKind().Group != batchv1.GroupName {
		return false, nil
	}
	var job batchv1.Job
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.chain.Direct()), &job); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	return !ignoresDisruption(job.Spec.PodFailurePolicy), nil
}

// ignoresDisruption reports whether the first rule that concerns disrupted pods ignores them. Earlier rules about exit codes do not matter,
// because a pod that never ran has no exit code.
func ignoresDisruption(p *batchv1.PodFailurePolicy) bool {
	if p == nil {
		return false
	}
	i := slices.IndexFunc(p.Rules, func(rule batchv1.PodFailurePolicyRule) bool {
		return slices.ContainsFunc(rule.OnPodConditions, func(c batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
			return c.Type == corev1.DisruptionTarget && (c.Status == corev1.ConditionTrue || c.Status == "")
		})
	})
	return i >= 0 && p.Rules[i].Action == batchv1.PodFailurePolicyActionIgnore
}

// replace lifts the exclusions temporarily and evicts the pod, so that its controller creates another one.
func (r *Reconciler) replace(ctx context.Context, s *scope, host string) (ctrl.Result, error) {
	d := &policy.Decision{
		Reason: reasonLifted, Warning: true,
		Message: fmt.Sprintf("no other node fits the pod: it may return to %s", strings.Join(memory.Hosts(s.pod.Annotations), ", ")),
	}
	if r.Config.DryRun {
		d.Message = "dry run: " + d.Message
		r.announce(ctx, s, signals.Match{}, d)
		return ctrl.Result{}, nil
	}
	// The eviction is never blocked: disruption budgets do not protect pending pods.
	return r.move(ctx, s, signals.Match{}, d, host, "no other node fits the pod: ", r.lift)
}

func (r *Reconciler) lift(ctx context.Context, s *scope) (outcome, error) {
	s.memory.RelaxedUntil = s.now.Add(relaxFor)
	if s.bare() {
		return r.remake(ctx, s)
	}
	if err := r.write(ctx, s, s.memory.Annotations(s.now)); err != nil {
		return gone, err
	}
	return r.evict(ctx, s.pod, &s.pod.ResourceVersion) // fails if the pod has been bound in the meantime
}

// roomFor is how long a measurement of a node's free resources is used. The requests of pods that may return to the node during this time
// are subtracted, even if those pods are not replaced after all.
const roomFor = time.Minute

// findRoom returns an excluded node on which the pod would fit now, or "" if there is none, and reserves the resources there. The cache
// does not contain resource requests, so findRoom reads the pod, the node and the node's pods from the API server, at most once per roomFor
// and node.
func (r *Reconciler) findRoom(ctx context.Context, s *scope, hosts []string) (host string, err error) {
	all, err := r.Nodes.List(ctx)
	if err != nil {
		return "", err
	}
	var requests corev1.ResourceList
	fits := placement.Fitting(placement.WithoutExclusions(s.pod, hosts))
	for _, host := range hosts {
		if node := all.Get(host); node == nil || !fits(node) {
			continue
		}
		if requests == nil {
			var pod corev1.Pod
			if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.pod), &pod); err != nil {
				return "", client.IgnoreNotFound(err)
			}
			requests = requestsOf(&pod)
		}
		if fits, err := r.reserve(ctx, host, requests); err != nil || fits {
			return host, err
		}
	}
	return "", nil
}

// requestsOf returns the resource requests of a pod. They include 1 for the resource `pods`, which nodes also limit.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	requests[corev1.ResourcePods] = resource.MustParse("1")
	return requests
}

// reserve reserves resources on a node, and reports whether the node has enough of them.
func (r *Reconciler) reserve(ctx context.Context, host string, requests corev1.ResourceList) (bool, error) {
	r.roomsMu.Lock()
	defer r.roomsMu.Unlock()
	known, found := r.rooms.Get(host)
	if !found {
		free, err := r.freeOn(ctx, host)
		if err != nil {
			return false, err
		}
		known = free
		r.rooms.Add(host, free, roomFor)
	}
	free := known.(corev1.ResourceList)
	for name, quantity := range requests {
		if left := free[name]; !quantity.IsZero() && left.Cmp(quantity) < 0 {
			return false, nil
		}
	}
	subtract(free, requests)
	return true, nil
}

// freeOn returns the allocatable resources of a node minus the requests of its pods.
func (r *Reconciler) freeOn(ctx context.Context, host string) (corev1.ResourceList, error) {
	var node corev1.Node
	if err := r.Live.Get(ctx, client.ObjectKey{Name: host}, &node); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := r.Live.List(ctx, &pods, client.MatchingFields{"spec.nodeName": host}); err != nil {
		return nil, fmt.Errorf("listing the pods of node %s: %w", host, err)
	}
	free := node.Status.Allocatable.DeepCopy()
	for i := range pods.Items {
		if !ended(&pods.Items[i]) {
			subtract(free, requestsOf(&pods.Items[i]))
		}
	}
	return free, nil
}

func subtract(from, requests corev1.ResourceList) {
	for name, quantity := range requests {
		if left, found := from[name]; found {
			left.Sub(quantity)
			from[name] = left
		}
	}
}
