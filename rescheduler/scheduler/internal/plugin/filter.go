package plugin

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// skip is the result for nearly all pods. The scheduler does not modify it.
var skip = fwk.NewStatus(fwk.Skip)

// cycleState passes the result of PreFilter to later steps of a scheduling cycle. It is immutable.
type cycleState struct{ excluded sets.Set[string] }

const cycleKey fwk.StateKey = Name

// Clone returns the state itself, because it is immutable.
func (c *cycleState) Clone() fwk.StateData { return c }

// cycleOf returns the state of a pod, or nil if the pod has no exclusions.
func cycleOf(state fwk.CycleState) *cycleState {
	data, err := state.Read(cycleKey)
	if err != nil {
		return nil
	}
	return data.(*cycleState)
}

// PreFilter skips pods whose exclusions cover all nodes, and pods without exclusions. The plugin then adds no further cost for them.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	excluded, err := p.excluded(pod)
	switch {
	case err != nil:
		p.ignore(ctx, pod, unreadable, "The annotation "+memory.HostsAnnotation+" is ignored: "+err.Error())
		return nil, skip
	case excluded.Len() == 0:
		return nil, skip
	case !leavesAny(excluded, nodes):
		p.ignore(ctx, pod, noNodeLeft, "The annotation "+memory.HostsAnnotation+" is ignored: it names all nodes of the cluster")
		return nil, skip
	}
	state.Write(cycleKey, &cycleState{excluded})
	return nil, nil
}

// leavesAny reports whether at least one node is not excluded. Usually there are more nodes than exclusions, so there is no need to check
// each node.
func leavesAny(excluded sets.Set[string], nodes []fwk.NodeInfo) bool {
	return len(nodes) > excluded.Len() || slices.ContainsFunc(nodes, func(node fwk.NodeInfo) bool { return !excluded.Has(node.Node().Name) })
}

// PreFilterExtensions returns nil, because other pods do not affect exclusions.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter rejects excluded nodes. The scheduler checks nominated nodes and batch hints with Filter alone, regardless of PreFilter. The
// status code prevents preemption on excluded nodes.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	c := cycleOf(state)
	if c == nil || !c.excluded.Has(node.Node().Name) {
		return nil
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, memory.FilterMessage)
}

// fragment is the key of the pod signature, named after the field as the scheduler requires.
const fragment = "v1.Pod.Annotations[" + memory.HostsAnnotation + "]"

// SignPod lets pods with the same exclusions share results. Pods without exclusions are batched as if the plugin were off.
func (p *Plugin) SignPod(_ context.Context, pod *corev1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	excluded, err := p.excluded(pod)
	if err != nil || excluded.Len() == 0 {
		return nil, nil
	}
	return []fwk.SignFragment{{Key: fragment, Value: sets.List(excluded)}}, nil
}

func (p *Plugin) ignore(ctx context.Context, pod *corev1.Pod, why ignored, message string) {
	exclusionsIgnored.WithLabelValues(string(why)).Inc()
	logger := klog.FromContext(ctx)
	logger.V(2).Info("Ignoring the pod's exclusions", "pod", klog.KObj(pod), "reason", why)
	p.handle.EventRecorder().WithLogger(logger).Eventf(pod, nil, corev1.EventTypeWarning, "ExclusionsIgnored", "Scheduling", "%s", message)
}

// EventsToRegister returns the events after which a rejected pod may fit: its annotation allows a node, a node is added, or an excluded
// node becomes suitable, so that the exclusions may be dropped. Annotations have no event type of their own, so all pod updates are
// registered.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	const changesOfNodes = fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Update}, QueueingHintFn: hint(p.afterPodUpdate)},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: hint(p.afterPodDelete)},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: changesOfNodes}, QueueingHintFn: hint(p.afterNodeUpdate)},
	}, nil
}

// hint returns a queueing hint that retries a pod if helps reports that the change to an object may make the pod schedulable.
func hint[T any](helps func(pod *corev1.Pod, before, after T) bool) fwk.QueueingHintFn {
	return func(_ klog.Logger, pod *corev1.Pod, old, current any) (fwk.QueueingHint, error) {
		before, after, err := util.As[T](old, current)
		if err == nil && !helps(pod, before, after) {
			return fwk.QueueSkip, nil
		}
		return fwk.Queue, err
	}
}

func (p *Plugin) afterPodUpdate(pod, before, after *corev1.Pod) bool {
	return after != nil && before != nil && after.UID == pod.UID && !annotated(after).IsSuperset(annotated(before))
}

// afterPodDelete retries if the deleted pod ran on an excluded node, which now has free capacity.
func (p *Plugin) afterPodDelete(pod, deleted, _ *corev1.Pod) bool {
	return deleted != nil && annotated(pod).Has(deleted.Spec.NodeName)
}

func (p *Plugin) afterNodeUpdate(pod *corev1.Pod, _, node *corev1.Node) bool {
	return annotated(pod).Has(node.Name)
}

// annotated returns the exclusions in the annotation even if they have been dropped. It returns none if the annotation is invalid.
func annotated(pod *corev1.Pod) sets.Set[string] { return sets.New(memory.Hosts(pod.Annotations)...) }
