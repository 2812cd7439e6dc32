package rescheduling

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// reaches are for workloads: whether a pod of theirs has its namespace labelled, by reach. A label that is no more needed goes when it is
// swept, so the same holds for whether it stays.
var reaches = map[string]struct {
	asks               bool
	memory             memory.Memory
	managed, excluding bool
}{
	"one that does not ask":            {false, avoiding("a"), false, false},
	"one that avoids no node yet":      {true, memory.Memory{}, true, false},
	"one that avoids a node":           {true, avoiding("a"), true, true},
	"one whose exclusions are over":    {true, avoidingUntil(noon), true, false},
	"one that has used up its moves":   {true, avoiding("a").Exhaust(noon.Add(-time.Hour)), true, false},
	"one that nobody is kept from now": {true, relaxed(avoiding("a")), true, false},
}

func avoidingUntil(end time.Time) memory.Memory {
	m := avoiding("a")
	m.Entries[0].Last, m.Entries[0].Expires = end.Add(-time.Hour), end
	return m
}

func relaxed(m memory.Memory) memory.Memory {
	m.RelaxedUntil = noon.Add(time.Minute)
	return m
}

// labelWorld has a pod of a workload in the namespace default, which has these labels.
func labelWorld(t *testing.T, reach settings.Reach, asks bool, m memory.Memory, labels map[string]string) (*world, *corev1.Pod) {
	t.Helper()
	owner := workload("w")
	owner.Annotations = m.Annotations(noon)
	if asks {
		owner.Annotations[memory.RetriesAnnotation] = "3"
	}
	config := settings.Default()
	config.Admission.Reach = reach
	pod := pods.Make("p", noon).Change(owned(owner)).Obj()
	w := newWorld(t, config, interceptor.Funcs{}, pod, ready("a"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: labels}})
	w.known[owner.UID] = owner
	return w, pod
}

// labels of the namespace; one of them is somebody else's.
func (w *world) labels() map[string]string {
	w.Helper()
	var ns corev1.Namespace
	w.ok(w.client.Get(w.Context(), client.ObjectKey{Name: "default"}, &ns))
	if ns.Labels["theirs"] != "kept" {
		w.Errorf("labels that nobody asked to change: %v", ns.Labels)
	}
	return ns.Labels
}

func eachReach(t *testing.T, test func(t *testing.T, reach settings.Reach, asks bool, m memory.Memory, want string)) {
	t.Helper()
	for name, c := range reaches {
		for reach, wanted := range map[settings.Reach]bool{settings.Managed: c.managed, settings.Excluding: c.excluding} {
			want := ""
			if wanted {
				want = labelled
			}
			t.Run(name+", "+string(reach), func(t *testing.T) { test(t, reach, c.asks, c.memory, want) })
		}
	}
}

func TestTheWebhookIsAskedWhereItIsNeeded(t *testing.T) {
	eachReach(t, func(t *testing.T, reach settings.Reach, asks bool, m memory.Memory, want string) {
		w, pod := labelWorld(t, reach, asks, m, map[string]string{"theirs": "kept"})
		_, err := w.Reconcile(t.Context(), pod)
		w.ok(err)
		if got := w.labels()[NamespaceLabel]; got != want {
			t.Errorf("the label is %q, want %q", got, want)
		}
	})
}

func TestTheWebhookIsAskedNoMoreWhereItIsNot(t *testing.T) {
	eachReach(t, func(t *testing.T, reach settings.Reach, asks bool, m memory.Memory, want string) {
		w, _ := labelWorld(t, reach, asks, m, map[string]string{"theirs": "kept", NamespaceLabel: labelled})
		w.ok(w.Sweep(t.Context()))
		got, there := w.labels()[NamespaceLabel]
		if got != want || there != (want != "") {
			t.Errorf("the label is %q, want %q", got, want)
		}
	})
}

func TestNamespacesWithoutPodsAreNotAskedAbout(t *testing.T) {
	for _, reach := range []settings.Reach{settings.Managed, settings.Excluding} {
		w, pod := labelWorld(t, reach, true, avoiding("a"), map[string]string{"theirs": "kept", NamespaceLabel: labelled})
		w.ok(w.client.Delete(t.Context(), pod))
		w.ok(w.Sweep(t.Context()))
		if _, there := w.labels()[NamespaceLabel]; there {
			t.Errorf("%s: the label stays", reach)
		}
	}
}

// A manager that is told to look at other namespaces from now on leaves no label behind.
func TestNamespacesThatAreNotLookedAtAreNotAskedAbout(t *testing.T) {
	for namespace, stays := range map[string]bool{"other": false, "default": true} {
		w, _ := labelWorld(t, settings.Managed, true, avoiding("a"), map[string]string{"theirs": "kept", NamespaceLabel: labelled})
		w.config.Namespaces = []string{namespace}
		w.ok(w.Sweep(t.Context()))
		if _, there := w.labels()[NamespaceLabel]; there != stays {
			t.Errorf("looking at %s: the label of default stays: %t", namespace, there)
		}
	}
	w, _ := labelWorld(t, settings.Managed, true, avoiding("a"), map[string]string{"theirs": "kept", NamespaceLabel: labelled})
	w.config.ExcludedNamespaces = append(w.config.ExcludedNamespaces, "default")
	w.ok(w.Sweep(t.Context()))
	if _, there := w.labels()[NamespaceLabel]; there {
		t.Error("default is excluded, and its label stays")
	}
}
