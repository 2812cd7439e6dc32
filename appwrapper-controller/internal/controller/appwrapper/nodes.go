package appwrapper

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/plan"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
	"github.com/holdfast-project/holdfast/shared/bootstrap/podcache"
)

// nodeChanged reports whether an update of a node may have changed its health signals. The cache drops all other fields, such as
// heartbeats.
func nodeChanged(e event.TypedUpdateEvent[*corev1.Node]) bool {
	before, after := e.ObjectOld, e.ObjectNew
	return !maps.Equal(before.Labels, after.Labels) || !equality.Semantic.DeepEqual(before.Spec, after.Spec) ||
		!equality.Semantic.DeepEqual(before.Status, after.Status)
}

func (r *Reconciler) workloadsOn(ctx context.Context, node *corev1.Node) []reconcile.Request {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, client.MatchingFields{podcache.NodeIndex: node.Name}, client.UnsafeDisableDeepCopy); err != nil {
		ctrllog.FromContext(ctx).Error(err, "Failed to list the pods on a node whose signals changed", "node", node.Name)
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, requestOf(ctx, &list.Items[i])...)
	}
	return requests
}

func (r *Reconciler) observeNodes(ctx context.Context, s *scope) error {
	why := map[string]bool{}
	nodes := map[string]bool{}
	for _, pod := range s.pods {
		if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		signal, err := r.badSignal(ctx, s, pod)
		if err != nil {
			return err
		}
		if signal != nil {
			nodes[pod.Spec.NodeName], why[signal.Name] = true, true
		}
	}
	if len(nodes) == 0 {
		r.evacuations.cancel(s.aw.UID)
		return nil
	}
	e := &policy.Evacuation{Nodes: slices.Sorted(maps.Keys(nodes))}
	e.Message = fmt.Sprintf("pods are running on bad nodes: %s (%s)", strings.Join(first(e.Nodes, 4), ", "), strings.Join(first(slices.Sorted(maps.Keys(why)), 4), ", "))
	s.facts.Evacuation = e
	if placedByTopology(s.aw) {
		e.Held = "Kueue placed the pods by topology and would choose the same nodes after a reset: Kueue replaces such nodes itself"
		return nil
	}
	var err error
	e.Held, err = r.evacuations.admit(ctx, s.aw)
	return err
}

// badSignal returns the signal that requires the pod to leave its node, or nil. It records the end of the earliest hold-down.
func (r *Reconciler) badSignal(ctx context.Context, s *scope, pod *corev1.Pod) (*signals.Signal, error) {
	if signal := r.signals.Unhealthy(&pod.Status); signal != nil {
		return signal, nil
	}
	var node corev1.Node
	if err := r.Client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("getting node %s: %w", pod.Spec.NodeName, err))
	}
	signal, held := r.signals.Bad(&node, pods.Requests(&pod.Spec), s.facts.Now)
	if s.facts.HoldDown.IsZero() || !held.IsZero() && held.Before(s.facts.HoldDown) {
		s.facts.HoldDown = held
	}
	return signal, nil
}

// topologyGate is the scheduling gate of pods that Kueue places by topology.
const topologyGate = "kueue.x-k8s.io/topology"

func placedByTopology(aw *v1beta2.AppWrapper) bool {
	for _, c := range aw.Spec.Components {
		for _, info := range c.PodSetInfos {
			if slices.ContainsFunc(info.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == topologyGate }) {
				return true
			}
		}
	}
	return false
}

// avoid returns the nodes that pods with these requests must or should avoid: those identified by the signal table, and those that the
// workload was evacuated from, if the table applies to the requests. Labels from the table are included only if anti-affinity injection is
// enabled.
func (r *Reconciler) avoid(s *scope, nodes []corev1.Node, requests map[corev1.ResourceName]bool) plan.Placement {
	must, should := plan.Avoidance{Labels: map[string][]string{}}, plan.Avoidance{Labels: map[string][]string{}}
	concerned := false
	for _, signal := range r.signals {
		if !signal.Concerns(requests) {
			continue
		}
		labels := should.Labels
		if signal.Effect != signals.SoftAvoid {
			labels, concerned = must.Labels, true
		}
		if l := signal.Label; l != nil && r.Config.Autopilot.InjectAntiAffinities {
			labels[l.Key] = append(labels[l.Key], l.Values...)
		}
	}
	for i := range nodes {
		if node := &nodes[i]; r.signals.Avoids(node, requests, false, s.facts.Now) {
			must.Nodes = append(must.Nodes, node.Name)
		} else if r.signals.Avoids(node, requests, true, s.facts.Now) {
			should.Nodes = append(should.Nodes, node.Name)
		}
	}
	if concerned {
		must.Nodes = append(must.Nodes, leftNodes(&s.aw.Status, r.Config.NodeHealth.EvacuatedNodeTTL.Duration, s.facts.Now)...)
	}
	return plan.Placement{Must: must, Should: should, Weight: ptr.Deref(r.Config.Autopilot.PreferNoScheduleWeight, 1)}
}

func first(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), "...")
}

// evacuations limits how many workloads are evacuated at the same time, so that incorrect labels on all nodes do not reset all workloads
// at once. The count is derived from the statuses, so the limit also holds after a restart.
type evacuations struct {
	reader client.Reader
	limit  int // 0: no limit

	mu sync.Mutex
	// admitted holds workloads whose evacuation was admitted but is not visible in the cache yet. The value is the evacuation count that the
	// status will show once the evacuation is visible.
	admitted map[types.UID]int32
}

// admit admits an evacuation, or returns why it must wait.
func (e *evacuations) admit(ctx context.Context, aw *v1beta2.AppWrapper) (waitReason string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list v1beta2.AppWrapperList
	if err := e.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing AppWrappers: %w", err)
	}
	others, waiting := 0, map[types.UID]int32{}
	for i := range list.Items {
		other := &list.Items[i]
		evacuations, admitted := e.admitted[other.UID]
		if admitted = admitted && other.Status.Phase == v1beta2.Running && other.Status.Evacuations < evacuations; admitted {
			waiting[other.UID] = evacuations
		}
		if other.UID != aw.UID && (admitted || underEvacuation(&other.Status)) {
			others++
		}
	}
	e.admitted = waiting
	if e.limit > 0 && others >= e.limit {
		return fmt.Sprintf("other workloads are being evacuated: %d, at most %d at the same time", others, e.limit), nil
	}
	e.admitted[aw.UID] = aw.Status.Evacuations + 1
	return "", nil
}

// cancel revokes a workload's admission when its evacuation is no longer due.
func (e *evacuations) cancel(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.admitted, uid)
}

// underEvacuation reports whether the workload has left bad nodes and its pods are not running elsewhere yet.
func underEvacuation(status *v1beta2.AppWrapperStatus) bool {
	left := failedAttempt(status)
	return left != nil && left.Evacuation && !meta.IsStatusConditionTrue(status.Conditions, string(v1beta2.PodsReady))
}
