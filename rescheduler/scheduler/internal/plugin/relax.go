package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// PostFilter runs when a pod fits on no node. It must run before preemption, so the profile must list the plugins in that order. If the
// exclusions are the cause, it drops them and prevents preemption in this cycle, and the pod is retried immediately. If not, preemption
// continues.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	c := cycleOf(state)
	if c == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	why, node, err := p.decide(ctx, state, pod, c.excluded, statuses)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if why == "" {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.relax(ctx, pod, why, node)
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the pod may go back to nodes on which its workload has failed")
}

// relaxReason is the reason why exclusions are dropped. It is a metric label.
type relaxReason string

const (
	// nothingElseFits means that the pod fits only on an excluded node. Returning there does not affect other pods, so it takes precedence
	// over preemption, which would.
	nothingElseFits relaxReason = "NothingElseFits"
	// nothingElseCanFit means that preemption could free capacity only on an excluded node.
	nothingElseCanFit relaxReason = "NothingElseCanFit"
)

// decide determines whether only the exclusions prevent the pod from being scheduled. It returns the reason for dropping them, and the
// node on which the decision is based. The reason is empty if they are kept.
func (p *Plugin) decide(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, excluded sets.Set[string], statuses fwk.NodeToStatusReader,
) (why relaxReason, node string, err error) {
	nodes := p.handle.SnapshotSharedLister().NodeInfos()
	byPreemption := ""
	for _, name := range sets.List(excluded) {
		info, err := nodes.Get(name)
		if err != nil {
			continue // deleted
		}
		switch status := p.withoutExclusions(ctx, state, pod, info, statuses.Get(name)); {
		case status.IsSuccess(), status.IsError():
			// If a filter fails, treat the node as fitting, so that the pod does not wait because of the error.
			return nothingElseFits, name, nil
		case status.Code() == fwk.Unschedulable:
			byPreemption = cmp.Or(byPreemption, name)
		}
	}
	if byPreemption == "" {
		return "", "", nil
	}
	full, err := statuses.NodesForStatusCode(nodes, fwk.Unschedulable)
	if err != nil {
		return "", "", fmt.Errorf("listing nodes on which pods could be preempted: %w", err)
	}
	if slices.ContainsFunc(full, func(node fwk.NodeInfo) bool { return !excluded.Has(node.Node().Name) }) {
		return "", "", nil // preemption there comes first
	}
	return nothingElseCanFit, byPreemption, nil
}

// withoutExclusions returns the status that a node has if the exclusions are ignored. It runs the filters again if this plugin rejected
// the node. Rejections by other plugins stand.
func (p *Plugin) withoutExclusions(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo, status *fwk.Status) *fwk.Status {
	if status.IsSuccess() || status.Plugin() != Name {
		return status
	}
	without := state.Clone()
	without.Delete(cycleKey)
	return p.handle.RunFilterPluginsWithNominatedPods(ctx, without, pod, node)
}

// relax drops the exclusions in memory, so that the scheduling cycle does not wait for the API server, and removes the annotation
// afterwards.
func (p *Plugin) relax(ctx context.Context, pod *corev1.Pod, why relaxReason, node string) {
	value := pod.Annotations[memory.HostsAnnotation]
	p.relaxed.Add(pod.UID, value, relaxedFor)
	podsRelaxed.WithLabelValues(string(why)).Inc()
	logger := klog.FromContext(ctx)
	logger.V(2).Info("Dropping the pod's exclusions", "pod", klog.KObj(pod), "reason", why, "node", node)
	p.handle.EventRecorder().WithLogger(logger).Eventf(pod, nil, corev1.EventTypeNormal, "ExclusionsDropped", "Scheduling",
		"%s: the pod may go back to nodes on which its workload has failed, such as %s", why, node)
	p.handle.Activate(logger, map[string]*corev1.Pod{klog.KObj(pod).String(): pod})
	p.background(func() { p.clear(context.WithoutCancel(ctx), pod, value) })
}

// The plugin tries this many times to remove an annotation, over about ten seconds in total. The pod does not wait for it.
const (
	attempts   = 12
	firstRetry = 5 * time.Millisecond // doubled after each attempt
)

// clear removes the annotation of a pod whose exclusions were dropped. It fails without a change if the pod or its annotation has been
// replaced.
func (p *Plugin) clear(ctx context.Context, pod *corev1.Pod, value string) {
	patch, _ := json.Marshal([]map[string]string{ // strings always marshal
		{"op": "test", "path": "/metadata/uid", "value": string(pod.UID)},
		{"op": "test", "path": memory.HostsPath, "value": value},
		{"op": "remove", "path": memory.HostsPath},
	})
	err := retry.OnError(wait.Backoff{Duration: p.firstRetry, Factor: 2, Steps: attempts}, mayRetry, func() error {
		_, err := p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		return err
	})
	logger := klog.FromContext(ctx)
	if err != nil && !isChanged(err) {
		logger.Error(err, "Failed to remove the annotation of a pod whose exclusions were dropped, ignoring the annotation for now", "pod", klog.KObj(pod))
	}
	// Activate skips the back-off of the pod.
	p.handle.Activate(logger, map[string]*corev1.Pod{klog.KObj(pod).String(): pod})
}

func mayRetry(err error) bool { return !isChanged(err) && !apierrors.IsForbidden(err) }

// isChanged reports whether the pod is gone, or its annotation has changed.
func isChanged(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsConflict(err)
}
