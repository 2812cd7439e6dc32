package rescheduling

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// wanted maps workloads to the label that their namespace gets when one of their pods is reconciled.
var wanted = map[string]struct {
	asks   bool
	memory memory.Memory
	want   string
}{
	"without annotation": {false, avoiding("a"), ""},
	"without exclusions": {true, memory.Memory{}, labelled},
	"with an exclusion":  {true, avoiding("a"), labelled},
}

// labelWorld returns a world with a pod of a workload in the namespace default, which has the given labels.
func labelWorld(t *testing.T, asks bool, m memory.Memory, labels map[string]string) (*world, *corev1.Pod) {
	t.Helper()
	owner := workload("w")
	owner.Annotations = m.Annotations(noon)
	if asks {
		owner.Annotations[memory.RetriesAnnotation] = "3"
	}
	pod := pods.Make("p", noon).Change(owned(owner)).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, pod, ready("a"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: labels}})
	w.known[owner.UID] = owner
	return w, pod
}

// labels returns the namespace's labels, including one that was set by another program.
func (w *world) labels() map[string]string {
	w.Helper()
	var ns corev1.Namespace
	w.ok(w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, &ns))
	if ns.Labels["theirs"] != "kept" {
		w.Errorf("unrelated labels changed: %v", ns.Labels)
	}
	return ns.Labels
}

func TestNamespaceIsLabeledForWebhook(t *testing.T) {
	for name, c := range wanted {
		t.Run(name, func(t *testing.T) {
			w, pod := labelWorld(t, c.asks, c.memory, map[string]string{"theirs": "kept"})
			_, err := w.Reconcile(t.Context(), pod)
			w.ok(err)
			if got := w.labels()[NamespaceLabel]; got != c.want {
				t.Errorf("the label is %q, want %q", got, c.want)
			}
		})
	}
}
