package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/exclusion"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/settings"
)

// skip is what nearly all pods get; the scheduler does not change it.
var skip = fwk.NewStatus(fwk.Skip)

// cycle is what PreFilter leaves for the rest of one attempt to schedule a pod. It does not change.
type cycle struct {
	excluded exclusion.Set
	narrowed bool // the scheduler was given the nodes that are left
}

const cycleKey fwk.StateKey = Name

// Clone needs no copy: nothing changes.
func (c *cycle) Clone() fwk.StateData { return c }

// cycleOf is nil for a pod that stays away from no node.
func cycleOf(state fwk.CycleState) *cycle {
	data, err := state.Read(cycleKey)
	if err != nil {
		return nil
	}
	return data.(*cycle)
}

// PreFilter skips pods without exclusions, for which the plugin then costs nothing more, and pods that would have no node left at all.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if _, found := pod.Annotations[memory.HostsAnnotation]; !found {
		return nil, skip
	}
	excluded, err := p.excluded(pod)
	switch {
	case err != nil:
		p.ignore(ctx, pod, unreadable, "The annotation "+memory.HostsAnnotation+" is ignored: "+err.Error())
		return nil, skip
	case excluded.Len() == 0:
		return nil, skip
	case excluded.LeavesNone(len(nodes), func(i int) string { return nodes[i].Node().Name }):
		p.ignore(ctx, pod, noNodeLeft, "The annotation "+memory.HostsAnnotation+" is ignored: it names all nodes there are")
		return nil, skip
	}
	c := &cycle{excluded: excluded, narrowed: p.args.Strategy == settings.PreFilterResult}
	state.Write(cycleKey, c)
	if !c.narrowed {
		return nil, nil
	}
	return remainder(nodes, excluded), nil
}

func remainder(nodes []fwk.NodeInfo, excluded exclusion.Set) *fwk.PreFilterResult {
	names := sets.New[string]()
	for _, node := range nodes {
		if name := node.Node().Name; !excluded.Has(name) {
			names.Insert(name)
		}
	}
	return &fwk.PreFilterResult{NodeNames: names}
}

// PreFilterExtensions: other pods do not matter to which nodes are excluded.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter is what excludes. A nominated node and a batch's hint are tested by filters alone, whatever PreFilter returned. Preemption on an
// excluded node would be in vain, hence the code.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	c := cycleOf(state)
	if c == nil || !c.excluded.Has(node.Node().Name) {
		return nil
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, memory.FilterMessage)
}

// fragment is named after what it holds, as the scheduler wants it.
const fragment = "v1.Pod.Annotations[" + memory.HostsAnnotation + "]"

// SignPod lets pods with the same exclusions share results, and pods without any be batched as if the plugin were not there.
func (p *Plugin) SignPod(_ context.Context, pod *corev1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	excluded, err := p.excluded(pod)
	if err != nil || excluded.Len() == 0 {
		return nil, nil
	}
	return []fwk.SignFragment{{Key: fragment, Value: excluded.Sorted()}}, nil
}

func (p *Plugin) ignore(ctx context.Context, pod *corev1.Pod, why ignored, message string) {
	exclusionsIgnored.WithLabelValues(string(why)).Inc()
	logger := klog.FromContext(ctx)
	logger.V(2).Info("Exclusions of a pod are ignored", "pod", klog.KObj(pod), "reason", why)
	p.handle.EventRecorder().WithLogger(logger).Eventf(pod, nil, corev1.EventTypeWarning, "ExclusionsIgnored", "Scheduling", "%s", message)
}

// EventsToRegister are those that can help a pod that the plugin rejected: its annotation opens a node, a node joins, or a node that it is
// kept away from comes to fit, so that its exclusions may be dropped. Annotations have no event of their own, hence the general update.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	const changesOfNodes = fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Update}, QueueingHintFn: p.afterPodUpdate},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: p.afterPodDelete},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}, QueueingHintFn: p.afterNodeAdd},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: changesOfNodes}, QueueingHintFn: p.afterNodeUpdate},
	}, nil
}

func (p *Plugin) afterPodUpdate(_ klog.Logger, pod *corev1.Pod, old, current any) (fwk.QueueingHint, error) {
	before, after, err := util.As[*corev1.Pod](old, current)
	if err != nil {
		return fwk.Queue, err
	}
	if after == nil || before == nil || after.UID != pod.UID {
		return fwk.QueueSkip, nil
	}
	return queueIf(written(after).OpensMoreThan(written(before))), nil
}

// afterPodDelete: the pod that left made room on a node that this one is kept away from.
func (p *Plugin) afterPodDelete(_ klog.Logger, pod *corev1.Pod, old, current any) (fwk.QueueingHint, error) {
	deleted, _, err := util.As[*corev1.Pod](old, current)
	if err != nil {
		return fwk.Queue, err
	}
	return queueIf(p.mayRelax() && deleted != nil && written(pod).Has(deleted.Spec.NodeName)), nil
}

func (p *Plugin) afterNodeAdd(_ klog.Logger, pod *corev1.Pod, old, current any) (fwk.QueueingHint, error) {
	_, node, err := util.As[*corev1.Node](old, current)
	if err != nil {
		return fwk.Queue, err
	}
	return queueIf(p.mayRelax() || !written(pod).Has(node.Name)), nil
}

func (p *Plugin) afterNodeUpdate(_ klog.Logger, pod *corev1.Pod, old, current any) (fwk.QueueingHint, error) {
	_, node, err := util.As[*corev1.Node](old, current)
	if err != nil {
		return fwk.Queue, err
	}
	return queueIf(p.mayRelax() && written(pod).Has(node.Name)), nil
}

func (p *Plugin) mayRelax() bool { return p.args.OnExhaustion == settings.Relax }

// written is what the annotation says, whether it counts or not. It is empty if it cannot be read.
func written(pod *corev1.Pod) exclusion.Set {
	set, err := exclusion.Read(pod.Annotations[memory.HostsAnnotation])
	if err != nil {
		return exclusion.Set{}
	}
	return set
}

func queueIf(worthIt bool) fwk.QueueingHint {
	if worthIt {
		return fwk.Queue
	}
	return fwk.QueueSkip
}
