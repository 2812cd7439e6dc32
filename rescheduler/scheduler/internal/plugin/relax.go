package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
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
	if p.args.OnExhaustion == wait {
		return nil, fwk.NewStatus(fwk.Unschedulable, "the pod is waiting for a node on which its workload has not failed")
	}
	excluded, others, err := p.candidates(ctx, state, pod, c, statuses)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	why, node := decide(excluded, others)
	if why == "" {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.relax(ctx, pod, why, node)
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the pod may go back to nodes on which its workload has failed")
}

// candidates returns how well the pod would fit each excluded node without its exclusions, and whether preemption might free capacity on a
// node that is not excluded.
func (p *Plugin) candidates(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, c *cycleState, statuses fwk.NodeToStatusReader,
) (excluded []candidate, others bool, err error) {
	nodes := p.handle.SnapshotSharedLister().NodeInfos()
	for _, name := range sets.List(c.excluded) {
		node, err := nodes.Get(name)
		if err != nil {
			continue // deleted
		}
		excluded = append(excluded, candidate{name, p.fit(ctx, state, pod, node, statuses.Get(name))})
	}
	open, err := statuses.NodesForStatusCode(nodes, fwk.Unschedulable)
	if err != nil {
		return nil, false, fmt.Errorf("listing nodes on which pods could be preempted: %w", err)
	}
	return excluded, slices.ContainsFunc(open, func(node fwk.NodeInfo) bool { return !c.excluded.Has(node.Node().Name) }), nil
}

// candidate is an excluded node and how well the pod fits it, apart from its exclusions.
type candidate struct {
	node string
	fit  fit
}

type fit int

const (
	never        fit = iota // preemption would not help
	byPreemption            // preemption might help
	now
)

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
func decide(excluded []candidate, othersByPreemption bool) (why relaxReason, node string) {
	fits := func(f fit) int {
		return slices.IndexFunc(excluded, func(c candidate) bool { return c.fit == f })
	}
	if i := fits(now); i >= 0 {
		return nothingElseFits, excluded[i].node
	}
	if i := fits(byPreemption); i >= 0 && !othersByPreemption {
		return nothingElseCanFit, excluded[i].node
	}
	return "", ""
}

// fit runs the filters again if this plugin rejected the node. Rejections by other plugins stand.
func (p *Plugin) fit(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo, status *fwk.Status) fit {
	if !status.IsSuccess() && status.Plugin() == Name {
		without := state.Clone()
		without.Delete(cycleKey)
		status = p.handle.RunFilterPluginsWithNominatedPods(ctx, without, pod, node)
	}
	switch {
	case status.IsSuccess(), status.IsError():
		// If a filter fails, treat the node as fitting, so that the pod does not wait because of the error.
		return now
	case status.Code() == fwk.Unschedulable:
		return byPreemption
	default:
		return never
	}
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
	p.clearer.remove(pod, value)
}

// attempts is the maximum number of attempts to remove one annotation, over about ten seconds in total. The pod does not wait for them.
const attempts = 12

// clearer removes the annotations of pods whose exclusions were dropped, outside of the scheduling cycle.
type clearer struct {
	handle fwk.Handle
	queue  workqueue.TypedRateLimitingInterface[removal]
}

// removal is the task of removing a given value of the annotation from a given pod.
type removal struct {
	pod   types.NamespacedName
	uid   types.UID
	value string
}

func newClearer(handle fwk.Handle) *clearer {
	return &clearer{handle: handle, queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[removal]())}
}

func (c *clearer) start(ctx context.Context) {
	context.AfterFunc(ctx, c.queue.ShutDown)
	go func() {
		for c.next(ctx) {
		}
	}()
}

func (c *clearer) remove(pod *corev1.Pod, value string) {
	c.queue.Add(removal{pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, uid: pod.UID, value: value})
}

func (c *clearer) next(ctx context.Context) bool {
	r, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(r)
	err := c.patch(ctx, r)
	result := resultOf(err)
	if result == failed && !apierrors.IsForbidden(err) && c.queue.NumRequeues(r) < attempts {
		c.queue.AddRateLimited(r)
		return true
	}
	c.queue.Forget(r)
	logger := klog.FromContext(ctx)
	annotationsClear.WithLabelValues(string(result)).Inc()
	if result == failed {
		logger.Error(err, "Failed to remove the annotation of a pod whose exclusions were dropped, ignoring the annotation for now", "pod", klog.KRef(r.pod.Namespace, r.pod.Name))
	}
	// Activate skips the back-off of the pod.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.pod.Namespace, Name: r.pod.Name, UID: r.uid}}
	c.handle.Activate(logger, map[string]*corev1.Pod{r.pod.String(): pod})
	return true
}

// patch removes the annotation. It fails without a change if the pod or its annotation has been replaced.
func (c *clearer) patch(ctx context.Context, r removal) error {
	_, err := c.handle.ClientSet().CoreV1().Pods(r.pod.Namespace).Patch(ctx, r.pod.Name, types.JSONPatchType, r.patch(), metav1.PatchOptions{})
	return err
}

func (r removal) patch() []byte {
	patch, _ := json.Marshal([]map[string]string{ // strings always marshal
		{"op": "test", "path": "/metadata/uid", "value": string(r.uid)},
		{"op": "test", "path": memory.HostsPath, "value": r.value},
		{"op": "remove", "path": memory.HostsPath},
	})
	return patch
}

func resultOf(err error) clearResult {
	switch {
	case err == nil:
		return removed
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsConflict(err):
		return changed
	default:
		return failed
	}
}
