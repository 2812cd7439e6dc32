//go:build e2e

package rescheduler

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// placed creates a bare pod for the second scheduler. The pod prefers the real node, and its annotation has the exclusions.
func (b *bench) placed(name, exclusions string, changes ...func(*corev1.PodSpec)) {
	b.Helper()
	template := worker(append(changes, byPlugin)...)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.NS, Name: name}, Spec: template.Spec}
	pod.Annotations = map[string]string{memory.HostsAnnotation: exclusions}
	b.OK(k8s.Create(b.Context(), pod))
}

// runs waits until a pod runs, and returns it.
func (b *bench) runs(name string) *corev1.Pod {
	b.Helper()
	pod := &corev1.Pod{}
	b.Until(name+" runs", func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKey{Namespace: b.NS, Name: name}, pod); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return nil
	})
	return pod
}

// says waits for an event of the scheduler about a pod.
func (b *bench) says(pod, reason string) {
	b.Helper()
	b.Until("there is an event "+reason, func(ctx context.Context) error {
		var events eventsv1.EventList
		if err := k8s.List(ctx, &events, client.InNamespace(b.NS)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Regarding.Name == pod && event.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(events.Items))
	})
}

func on(node string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{corev1.LabelHostname: node} }
}

func TestTheSecondSchedulerKeepsPodsOffExcludedNodes(t *testing.T) {
	b, bad := newBench(t), shared.Cluster.NodeNames()[0]
	for i := range 3 {
		b.placed(fmt.Sprintf("kept-off-%d", i), memory.FormatHosts([]string{bad, "a-node-that-is-gone"}))
		b.placed(fmt.Sprintf("free-%d", i), memory.FormatHosts(nil))
	}
	for i := range 3 {
		if node := b.runs(fmt.Sprintf("kept-off-%d", i)).Spec.NodeName; node == bad {
			t.Errorf("a pod is on %s, which is excluded", node)
		}
		if node := b.runs(fmt.Sprintf("free-%d", i)).Spec.NodeName; node != bad {
			t.Errorf("a pod without exclusions prefers %s, but runs on %s", bad, node)
		}
	}
}

func TestTheSecondSchedulerIgnoresExclusionsIfAPodFitsNowhereElse(t *testing.T) {
	b, bad := newBench(t), shared.Cluster.NodeNames()[0]
	b.placed("returns", memory.FormatHosts([]string{bad}), on(bad))
	if node := b.runs("returns").Spec.NodeName; node != bad {
		t.Errorf("it runs on %s", node)
	}
	b.says("returns", "ExclusionsDropped")
	b.Until("its annotation is gone", func(context.Context) error {
		if value, found := b.runs("returns").Annotations[memory.HostsAnnotation]; found {
			return fmt.Errorf("it is %s", value)
		}
		return nil
	})
}

func TestTheSecondSchedulerIgnoresInvalidAnnotations(t *testing.T) {
	b, bad := newBench(t), shared.Cluster.NodeNames()[0]
	b.placed("broken", `["`+bad)
	if node := b.runs("broken").Spec.NodeName; node != bad {
		t.Errorf("it runs on %s", node)
	}
	b.says("broken", "ExclusionsIgnored")
}
