package appwrapper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/plan"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
)

type nodeQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// nodeHandler writes down what nodes show, and wakes the workloads that run on one that has changed.
func (r *Reconciler) nodeHandler() handler.TypedEventHandler[*corev1.Node, reconcile.Request] {
	see := func(ctx context.Context, node *corev1.Node, q nodeQueue) {
		if changed, _ := r.book.Observe(node, r.clock.Now()); changed {
			r.wakeWorkloadsOn(ctx, node.Name, q)
		}
	}
	return handler.TypedFuncs[*corev1.Node, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Node], q nodeQueue) { see(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Node], q nodeQueue) {
			see(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Node], q nodeQueue) {
			r.book.Forget(e.Object.Name)
			r.wakeWorkloadsOn(ctx, e.Object.Name, q)
		},
	}
}

func (r *Reconciler) wakeWorkloadsOn(ctx context.Context, node string, q nodeQueue) {
	r.wakeWorkloads(ctx, client.MatchingFields{nodeIndex: node}, q)
}

// wakeWorkloads wakes those that have such pods.
func (r *Reconciler) wakeWorkloads(ctx context.Context, pods client.MatchingFields, q nodeQueue) {
	var list corev1.PodList
	if err := r.client.List(ctx, &list, pods, client.UnsafeDisableDeepCopy); err != nil {
		ctrllog.FromContext(ctx).Error(err, "Listing the pods of workloads to wake", "with", pods)
		return
	}
	woken := map[types.NamespacedName]bool{}
	for i := range list.Items {
		name := types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Labels[v1beta2.AppWrapperLabel]}
		if !woken[name] {
			woken[name] = true
			q.Add(reconcile.Request{NamespacedName: name})
		}
	}
}

// observeNodes finds out whether the workload has to leave nodes.
func (r *Reconciler) observeNodes(ctx context.Context, s *scope) error {
	why := map[string]bool{}
	nodes := map[string]bool{}
	for _, pod := range s.pods {
		if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		signal, err := r.badFor(ctx, s, pod)
		if err != nil {
			return err
		}
		if signal != nil {
			nodes[pod.Spec.NodeName], why[signal.Name] = true, true
		}
	}
	if len(nodes) == 0 {
		r.evacuations.note(s.aw)
		return nil
	}
	e := &policy.Evacuation{Nodes: sortedKeys(nodes)}
	e.Message = fmt.Sprintf("pods run on bad nodes: %s (%s)", strings.Join(first(e.Nodes, 4), ", "), strings.Join(first(sortedKeys(why), 4), ", "))
	s.facts.Evacuation = e
	if byTopology(s.aw) {
		e.Held, e.Retry = "Kueue has placed the pods by topology, and would place them there again after a reset: it replaces such nodes itself", safetyPoll
		return nil
	}
	e.Held, e.Retry = r.evacuations.admit(s.aw)
	return nil
}

// badFor returns the signal for which the pod has to leave its node, if there is one; if there may be one later, it is looked for then.
func (r *Reconciler) badFor(ctx context.Context, s *scope, pod *corev1.Pod) (*signals.Signal, error) {
	if signal := r.book.Table().Unhealthy(&pod.Status); signal != nil {
		return signal, nil
	}
	signal, next, err := r.taintedDevice(ctx, pod, s.facts.Now)
	if signal != nil || err != nil {
		return signal, err
	}
	s.lookAt(next)
	signal, next = r.book.Bad(pod.Spec.NodeName, pods.Requests(&pod.Spec), s.facts.Now)
	s.lookAt(next)
	return signal, nil
}

// lookAt looks again at a time, if it is one.
func (s *scope) lookAt(at time.Time) {
	if at.IsZero() {
		return
	}
	if wait := max(time.Millisecond, at.Sub(s.facts.Now)); s.lookAgain == 0 || wait < s.lookAgain {
		s.lookAgain = wait
	}
}

// topologyGate is on the pods of workloads that Kueue places by topology.
const topologyGate = "kueue.x-k8s.io/topology"

func byTopology(aw *v1beta2.AppWrapper) bool {
	for _, c := range aw.Spec.Components {
		for _, info := range c.PodSetInfos {
			if slices.ContainsFunc(info.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == topologyGate }) {
				return true
			}
		}
	}
	return false
}

// placement keeps the pods of an attempt away from bad nodes.
type placement struct {
	r     *Reconciler
	now   time.Time
	left  []string // nodes that the workload was moved away from
	whole bool     // whether anything is injected
}

func (r *Reconciler) placement(s *scope) plan.Placement {
	return placement{
		r: r, now: s.facts.Now, whole: r.config.Autopilot.InjectAntiAffinities,
		left: leftNodes(&s.aw.Status, time.Duration(r.config.NodeHealth.EvacuatedNodeTTL), s.facts.Now),
	}
}

// For is what the table says about pods with these requests, and the nodes that the workload has left if the table concerns them.
func (p placement) For(requests map[corev1.ResourceName]bool) plan.Avoidance {
	a := plan.Avoidance{Weight: 1}
	if w := p.r.config.Autopilot.PreferNoScheduleWeight; w != nil {
		a.Weight = *w
	}
	concerned := false
	for _, s := range p.r.book.Table() {
		if !s.Concerns(requests) {
			continue
		}
		concerned = concerned || s.Effect != signals.SoftAvoid
		if s.Label == nil || !p.whole {
			continue
		}
		into := &a.Labels
		if s.Effect == signals.SoftAvoid {
			into = &a.SoftLabels
		}
		if *into == nil {
			*into = map[string][]string{}
		}
		(*into)[s.Label.Key] = append((*into)[s.Label.Key], s.Label.Values...)
	}
	if p.whole {
		a.Nodes, a.SoftNodes = p.r.book.Avoided(requests, false, p.now), p.r.book.Avoided(requests, true, p.now)
	}
	if concerned {
		a.Nodes = append(a.Nodes, p.left...)
		slices.Sort(a.Nodes)
		a.Nodes = slices.Compact(a.Nodes)
	}
	return a
}

func sortedKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func first(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), "...")
}
