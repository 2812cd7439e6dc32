package rescheduling

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

func avoids(hosts string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[memory.HostsAnnotation] = hosts }
}

// As the first note in the design document says, exclusions are also removed from pods that are not bound yet.
func TestExclusionsOfPendingPodsAreRemovedWhenMovesAreUsedUp(t *testing.T) {
	owner := workload("w")
	waiting := pods.Make("waiting", noon).On("").Pending().Change(owned(owner)).Change(avoids(`["a"]`)).Obj()
	stuck := pods.Make("stuck", noon).On("").Pending().Change(owned(owner)).Change(avoids(`["a"]`)).
		Condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, noon).Obj()
	failing := pods.Make("failing", noon).Change(owned(owner)).Change(avoids(`["b"]`)).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, ready("a"), waiting, stuck, failing)
	s := w.of(failing, owner)
	s.memory = memory.Memory{Times: 3}.Exhaust()
	w.ok(w.fillFamily(t.Context(), s))
	for _, name := range []string{"waiting", "stuck", "failing"} {
		if pod, _ := w.pod(name); len(memory.Hosts(pod.Annotations)) != 0 {
			t.Errorf("%s avoids %v", name, memory.Hosts(pod.Annotations))
		}
	}
}

func TestPendingPodsGetExclusionsLater(t *testing.T) {
	owner, other := workload("w"), workload("x")
	waiting := pods.Make("waiting", noon).On("").Pending().Change(owned(owner)).Obj()
	full := pods.Make("full", noon).On("").Pending().Change(owned(owner)).
		Condition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, noon).Obj()
	byPlugin := full.DeepCopy()
	byPlugin.Name, byPlugin.UID = "by-plugin", "uid-by-plugin"
	byPlugin.Status.Conditions[0].Message = "0/2 nodes are available: 1 " + memory.FilterMessage
	bound := pods.Make("bound", noon).Change(owned(owner)).Obj()
	theirs := pods.Make("theirs", noon).On("").Pending().Change(owned(other)).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, ready("a"), ready("b"), waiting, full, byPlugin, bound, theirs)
	s := w.of(bound, owner)
	live := memory.Entry{Node: "a", NodeUID: "uid-a", Class: "c", Last: noon, Expires: noon.Add(time.Hour)}
	anew := memory.Entry{Node: "b", NodeUID: "uid-of-a-node-before", Class: "c", Last: noon, Expires: noon.Add(time.Hour)}
	s.memory.Entries = []memory.Entry{live, anew}
	w.ok(w.fillFamily(t.Context(), s))
	for name, want := range map[string]string{
		"waiting": `["a"]`, "full": `["a"]`, // no node has capacity now, and the bad node may be the first to have some
		"by-plugin": "", "bound": "", "theirs": "",
	} {
		if pod, _ := w.pod(name); pod.Annotations[memory.HostsAnnotation] != want {
			t.Errorf("%s avoids %s, want %s", name, pod.Annotations[memory.HostsAnnotation], want)
		}
	}
}

// The webhook reads the same history. Exclusions that the webhook has set are kept, and those recorded later are added.
func TestExclusionsBelongToTemplateOfPod(t *testing.T) {
	live := memory.Memory{Template: "v1", SharedWith: []string{"v2"}, Entries: []memory.Entry{{Node: "a", Class: "c", Last: noon, Expires: noon.Add(time.Hour)}}}
	for name, c := range map[string]struct {
		memory         memory.Memory
		template       string
		admitted, want string
	}{
		"nodes on which its template failed":                     {live, "v1", "", `["a"]`},
		"nodes on which a concurrent template failed":            {live, "v2", "", `["a"]`},
		"no nodes on which another template failed":              {live, "v3", "", ""},
		"in addition to those set at admission":                  {live, "v2", `["b"]`, `["a","b"]`},
		"none when the moves are used up":                        {live.Exhaust(), "v2", `["b"]`, ""},
		"its own when the moves of another template are used up": {live.Exhaust(), "v3", `["b"]`, `["b"]`},
	} {
		t.Run(name, func(t *testing.T) {
			waiting := revision("w-0", c.template).On("").Pending().Obj()
			if c.admitted != "" {
				avoids(c.admitted)(waiting)
			}
			w := newWorld(t, settings.Default(), interceptor.Funcs{}, ready("a"), ready("b"), waiting)
			s := w.of(waiting, workload("set"))
			s.memory = c.memory
			w.ok(w.fill(t.Context(), s, waiting))
			if pod, _ := w.pod("w-0"); pod.Annotations[memory.HostsAnnotation] != c.want {
				t.Errorf("it avoids %s, want %s", pod.Annotations[memory.HostsAnnotation], c.want)
			}
		})
	}
}

// The API server rejects the write for one pod. The other pods get their exclusions. This one is reconciled separately until
// it has them too.
func TestRejectedExclusionsAreWrittenLater(t *testing.T) {
	owner := workload("w")
	owner.Annotations = avoiding("a").Annotations(noon)
	owner.Annotations[memory.RetriesAnnotation] = "3"
	failing := pods.Make("failing", noon).On("a").Change(owned(owner)).Obj()
	refused := false
	w := newWorld(t, settings.Default(), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if _, ofPod := o.(*metav1.PartialObjectMetadata); ofPod && !refused {
			refused = true
			return apierrors.NewInternalError(errors.New("refused"))
		}
		return c.Patch(ctx, o, patch, opts...)
	}}, ready("a"), failing, stored(owner),
		pods.Make("one", noon).On("").Pending().Change(owned(owner)).Obj(), pods.Make("two", noon).On("").Pending().Change(owned(owner)).Obj())
	s := w.of(failing, owner)
	w.ok(w.fillFamily(t.Context(), s))
	filled := func() (n int) {
		for _, name := range []string{"one", "two"} {
			if pod, _ := w.pod(name); len(memory.Hosts(pod.Annotations)) == 1 {
				n++
			}
		}
		return n
	}
	if n := filled(); n != 1 || len(w.woken) != 1 {
		t.Fatalf("%d of the two pods have exclusions, %d were enqueued", n, len(w.woken))
	}
	_, err := w.reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject((<-w.woken).Object)})
	w.ok(err)
	if n := filled(); n != 2 {
		t.Errorf("%d of the two pods have exclusions at the end", n)
	}
}
