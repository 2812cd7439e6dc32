package plugin

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/relaxation"
)

// PostFilter runs when a pod fits on no node. It must run before preemption, which depends on the order of the profile's plugins. If the
// exclusions are the cause, it drops them and prevents preemption in this cycle, and the pod is retried at once. Otherwise preemption
// continues.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	c := cycleOf(state)
	if c == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	if p.args.OnExhaustion == wait {
		return nil, fwk.NewStatus(fwk.Unschedulable, "the pod waits for a node on which its workload has not failed")
	}
	question, err := p.question(ctx, state, pod, c, statuses)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	answer := relaxation.Decide(question)
	if !answer.Relax {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.relax(ctx, pod, answer)
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the pod may go back to nodes on which its workload has failed")
}

// question determines how the pod would fit each excluded node without its exclusions.
func (p *Plugin) question(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, c *cycleState, statuses fwk.NodeToStatusReader) (relaxation.Question, error) {
	nodes := p.handle.SnapshotSharedLister().NodeInfos()
	var q relaxation.Question
	for _, name := range c.excluded.Sorted() {
		node, err := nodes.Get(name)
		if err != nil {
			continue // deleted
		}
		q.Excluded = append(q.Excluded, relaxation.Candidate{Node: name, Fit: p.fit(ctx, state, pod, node, statuses.Get(name))})
	}
	open, err := statuses.NodesForStatusCode(nodes, fwk.Unschedulable)
	if err != nil {
		return q, fmt.Errorf("listing nodes on which pods could be preempted: %w", err)
	}
	q.OthersByPreemption = slices.ContainsFunc(open, func(node fwk.NodeInfo) bool {
		return !c.excluded.Has(node.Node().Name)
	})
	return q, nil
}

// fit runs the filters again if this plugin rejected the node. Rejections by other plugins stand.
func (p *Plugin) fit(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo, status *fwk.Status) relaxation.Fit {
	if !status.IsSuccess() && status.Plugin() == Name {
		without := state.Clone()
		without.Delete(cycleKey)
		status = p.handle.RunFilterPluginsWithNominatedPods(ctx, without, pod, node)
	}
	switch {
	case status.IsSuccess(), status.IsError():
		// A failing filter is no reason for the pod to wait.
		return relaxation.Now
	case status.Code() == fwk.Unschedulable:
		return relaxation.ByPreemption
	default:
		return relaxation.Never
	}
}

// relax drops the exclusions in memory, so that the scheduling cycle does not wait for the API server, and removes the annotation
// afterwards.
func (p *Plugin) relax(ctx context.Context, pod *corev1.Pod, answer relaxation.Answer) {
	value := pod.Annotations[memory.HostsAnnotation]
	p.relaxed.Add(pod.UID, value, relaxedFor)
	podsRelaxed.WithLabelValues(string(answer.Reason)).Inc()
	logger := klog.FromContext(ctx)
	logger.V(2).Info("Exclusions of a pod are dropped", "pod", klog.KObj(pod), "reason", answer.Reason, "node", answer.Node)
	p.handle.EventRecorder().WithLogger(logger).Eventf(pod, nil, corev1.EventTypeNormal, "ExclusionsDropped", "Scheduling",
		"%s: the pod may go back to nodes on which its workload has failed, such as %s", answer.Reason, answer.Node)
	p.handle.Activate(logger, map[string]*corev1.Pod{klog.KObj(pod).String(): pod})
	p.clearer.remove(pod, value)
}
