//go:build envtest

package app

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
)

// goOn repeats a step until the test ends.
func (w *world) goOn(part func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			part(ctx)
			time.Sleep(2 * time.Millisecond) // the interval at which a simulated component polls
		}
	}()
	w.Cleanup(func() { cancel(); <-ended })
}

func (w *world) pods(ctx context.Context) []corev1.Pod {
	var list corev1.PodList
	if err := w.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
		return nil
	}
	return list.Items
}

// scheduleAll binds pods to the first node that fits.
func (w *world) scheduleAll(ctx context.Context) {
	for _, pod := range w.pods(ctx) {
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			continue
		}
		node := w.choose(ctx, &pod)
		if node == "" {
			w.cannot(ctx, &pod)
			continue
		}
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
		if err := w.SubResource("binding").Create(ctx, &pod, binding); err == nil {
			w.mu.Lock()
			w.bound[node] = append(w.bound[node], pod.Name)
			w.mu.Unlock()
		}
	}
}

func (w *world) choose(ctx context.Context, pod *corev1.Pod) string {
	for _, name := range []string{w.bad, w.good} {
		var node corev1.Node
		if err := w.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return ""
		}
		if w.isFull(name) || w.plugin && slices.Contains(memory.Hosts(pod.Annotations), name) {
			continue
		}
		if placement.Fitting(pod)(&node) {
			return name
		}
	}
	return ""
}

// fill marks a node as full, so that no more pods are bound to it.
func (w *world) fill(node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full = node
}

func (w *world) isFull(node string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.full == node
}

func (w *world) cannot(ctx context.Context, pod *corev1.Pod) {
	if len(pod.Status.Conditions) > 0 {
		return
	}
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/2 nodes are available: 1 " + memory.FilterMessage, LastTransitionTime: metav1.Now(),
	}}
	_ = w.Status().Update(ctx, pod)
}

// kubeletAll runs pods, or sets the status that the test wants, and removes pods that are being deleted.
func (w *world) kubeletAll(ctx context.Context) {
	for _, pod := range w.pods(ctx) {
		switch {
		case pod.DeletionTimestamp != nil:
			_ = w.Delete(ctx, &pod, client.GracePeriodSeconds(0))
		case pod.Spec.NodeName != "" && !w.done[string(pod.UID)] && w.inUse(ctx):
			w.mu.Lock()
			status := w.kubelet(&pod)
			w.mu.Unlock()
			if status == nil {
				status = runs()
			}
			status.StartTime = ptr.To(metav1.Now())
			pod.Status = *status
			if err := w.Status().Update(ctx, &pod); err == nil {
				w.done[string(pod.UID)] = true
			}
		}
	}
}

// inUse reports whether the namespace has the label for managed pods, which a dry run does not set. A real kubelet never reports a
// status before the label is set.
func (w *world) inUse(ctx context.Context) bool {
	var ns corev1.Namespace
	return w.dryRun || w.Get(ctx, client.ObjectKey{Name: w.namespace}, &ns) == nil && ns.Labels["holdfast.dev/rescheduling"] != ""
}

func runs() *corev1.PodStatus {
	return &corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
	}
}
