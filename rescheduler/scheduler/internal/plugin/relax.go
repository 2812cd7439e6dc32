package plugin

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/relaxation"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/settings"
)

// PostFilter runs when a pod fits nowhere. It has to come before preemption, which the order of the profile's plugins decides. If the pod's
// exclusions are the cause they are dropped, and no pod is preempted in this cycle: the pod is tried again at once. Else preemption goes on.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	c := cycleOf(state)
	if c == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	if p.args.OnExhaustion == settings.Wait {
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

// question asks each excluded node what it would say without the exclusion.
func (p *Plugin) question(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, c *cycle, statuses fwk.NodeToStatusReader) (relaxation.Question, error) {
	nodes := p.handle.SnapshotSharedLister().NodeInfos()
	var q relaxation.Question
	for _, name := range c.excluded.Sorted() {
		node, err := nodes.Get(name)
		if err != nil {
			continue // it is gone
		}
		q.Excluded = append(q.Excluded, relaxation.Candidate{Node: name, Fit: p.fit(ctx, state, pod, c, node, statuses.Get(name))})
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

// fit runs the filters where the plugin was the one to reject the node. What other plugins said of it holds.
func (p *Plugin) fit(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, c *cycle, node fwk.NodeInfo, status *fwk.Status) relaxation.Fit {
	if c.rejected(status) {
		without := state.Clone()
		without.Delete(cycleKey)
		status = p.handle.RunFilterPluginsWithNominatedPods(ctx, without, pod, node)
	}
	switch {
	case status.IsSuccess(), status.IsError():
		// A filter that cannot tell is no reason for the pod to wait.
		return relaxation.Now
	case status.Code() == fwk.Unschedulable:
		return relaxation.ByPreemption
	default:
		return relaxation.Never
	}
}

// rejected: the node is out because of this plugin. Nodes that PreFilter left out have a status of no plugin.
func (c *cycle) rejected(status *fwk.Status) bool {
	if status == nil || status.IsSuccess() {
		return false
	}
	return status.Plugin() == Name || (c.narrowed && status.Plugin() == "" && status.Code() == fwk.UnschedulableAndUnresolvable)
}

// relax drops the exclusions in memory, so that nothing is written to the API server while pods wait to be scheduled, and has the annotation
// removed afterwards.
func (p *Plugin) relax(ctx context.Context, pod *corev1.Pod, answer relaxation.Answer) {
	value := pod.Annotations[memory.HostsAnnotation]
	p.relaxed.Add(pod.UID, value, time.Duration(p.args.RelaxedForSeconds)*time.Second)
	podsRelaxed.WithLabelValues(string(answer.Reason)).Inc()
	logger := klog.FromContext(ctx)
	logger.V(2).Info("Exclusions of a pod are dropped", "pod", klog.KObj(pod), "reason", answer.Reason, "node", answer.Node)
	p.handle.EventRecorder().WithLogger(logger).Eventf(pod, nil, corev1.EventTypeNormal, "ExclusionsDropped", "Scheduling",
		"%s: the pod may go back to nodes on which its workload has failed, such as %s", answer.Reason, answer.Node)
	p.handle.Activate(logger, map[string]*corev1.Pod{klog.KObj(pod).String(): pod})
	if p.clearer != nil {
		p.clearer.remove(pod, value)
	}
}
