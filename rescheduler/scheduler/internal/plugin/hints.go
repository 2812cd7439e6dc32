package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/exclusion"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/settings"
)

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
