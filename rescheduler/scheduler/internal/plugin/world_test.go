package plugin

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// world is a plugin in a cluster of a few nodes, with a record of its actions.
type world struct {
	*testing.T
	*Plugin
	handle *handle
	clock  *clocktesting.FakePassiveClock
}

func newWorld(t *testing.T, nodes ...string) *world {
	t.Helper()
	w := &world{T: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	w.handle = &handle{snapshot: snapshot(nodes), recorder: events.NewFakeRecorder(100), others: map[string]*fwk.Status{}}
	w.Plugin = newPlugin(w.handle, w.clock)
	w.background = func(func()) {}
	return w
}

func snapshot(names []string) *cache.Snapshot {
	var nodes []*corev1.Node
	for _, name := range names {
		nodes = append(nodes, makeNode(name))
	}
	return cache.NewSnapshot(nil, nodes)
}

func makeNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// makePod returns a pod with exclusions as the value of the annotation, or without the annotation.
func makePod(uid types.UID, annotation ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(uid), UID: uid}}
	for _, value := range annotation {
		pod.Annotations = map[string]string{memory.HostsAnnotation: value}
	}
	return pod
}

// attempt runs one scheduling cycle as the scheduler does: PreFilter, then Filter on each node.
type attempt struct {
	state    fwk.CycleState
	status   *fwk.Status // of PreFilter
	fit      []string
	statuses *framework.NodeToStatus
}

func (w *world) try(pod *corev1.Pod) attempt {
	w.Helper()
	a := attempt{state: framework.NewCycleState(), statuses: framework.NewDefaultNodeToStatus()}
	nodes, err := w.handle.snapshot.NodeInfos().List()
	if err != nil {
		w.Fatal(err)
	}
	_, a.status = w.PreFilter(w.Context(), a.state, pod, nodes)
	for _, node := range nodes {
		name := node.Node().Name
		switch status := w.verdict(a, pod, node); {
		case status.IsSuccess():
			a.fit = append(a.fit, name)
		default:
			a.statuses.Set(name, status)
		}
	}
	slices.Sort(a.fit)
	return a
}

// verdict combines the results of the other plugins, which run first, and of this one.
func (w *world) verdict(a attempt, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	if status := w.handle.others[node.Node().Name]; !status.IsSuccess() {
		return status
	}
	if a.status.IsSkip() {
		return nil
	}
	if status := w.Filter(w.Context(), a.state, pod, node); !status.IsSuccess() {
		return status.WithPlugin(Name)
	}
	return nil
}

func (w *world) events() []string {
	var got []string
	for {
		select {
		case event := <-w.handle.recorder.Events:
			got = append(got, event)
		default:
			return got
		}
	}
}

// handle is the part of the scheduler that the plugin uses.
type handle struct {
	fwk.Handle
	snapshot  *cache.Snapshot
	recorder  *events.FakeRecorder
	others    map[string]*fwk.Status // results of the other plugins' filters, by node
	activated []string
}

func (h *handle) SnapshotSharedLister() fwk.SharedLister    { return h.snapshot }
func (h *handle) EventRecorder() events.EventRecorderLogger { return h.recorder }

func (h *handle) Activate(_ klog.Logger, pods map[string]*corev1.Pod) {
	for name := range pods {
		h.activated = append(h.activated, name)
	}
}

// RunFilterPluginsWithNominatedPods rejects every node if the cycle state still contains the plugin's own state.
func (h *handle) RunFilterPluginsWithNominatedPods(_ context.Context, state fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	if cycleOf(state) != nil {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable).WithPlugin(Name)
	}
	return h.others[node.Node().Name]
}

func unschedulable() *fwk.Status {
	return fwk.NewStatus(fwk.Unschedulable, "it is full").WithPlugin("NodeResourcesFit")
}

func unresolvable() *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "it has a taint").WithPlugin("TaintToleration")
}
