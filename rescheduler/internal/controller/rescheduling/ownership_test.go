package rescheduling

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
	"github.com/holdfast-project/holdfast/shared/history"
)

// A CronJob may create a Job every minute.
func TestOwnersWithoutPodsAreForgotten(t *testing.T) {
	f := newOwnership()
	f.add("root", "lives")
	f.add("root", "gone")
	f.add("root of nothing", "gone")
	f.prune(func(direct types.UID) bool { return direct == "lives" })
	if got := f.of("root"); !slices.Equal(got, []types.UID{"lives"}) || len(f.children) != 1 {
		t.Errorf("left: %v", f.children)
	}
}

func TestPodWaitsForOneOwner(t *testing.T) {
	f := newOwnership()
	s := &scope{pod: pods.Make("p", noon).Obj()}
	s.chain = append(s.chain, workload("direct"), workload("root"))
	f.wait(s)
	if got := f.wake("uid-direct"); len(got) != 1 {
		t.Errorf("enqueued: %v", got)
	}
	if len(f.waiting) != 0 {
		t.Errorf("still waiting: %v", f.waiting)
	}
}

func TestPodsWaitingForDeletedOwnerAreForgotten(t *testing.T) {
	f := newOwnership()
	s := &scope{pod: pods.Make("p", noon).Obj()}
	s.chain = append(s.chain, workload("direct"), workload("root"))
	for _, o := range s.chain {
		f.add(o.UID, "uid-direct")
	}
	f.wait(s)
	f.prune(func(types.UID) bool { return true })
	if len(f.waiting) != 2 {
		t.Errorf("waiting for existing owners: %v", f.waiting)
	}
	f.prune(func(types.UID) bool { return false })
	if len(f.waiting) != 0 {
		t.Errorf("still waiting: %v", f.waiting)
	}
}

// Hanging pods have no events. If a user now allows moves, or more of them, this applies to these pods too.
func TestPodsAreReconciledWhenOwnerAllowsMoves(t *testing.T) {
	owner, other := workload("w"), workload("x")
	w := newWorld(t, settings.Default(), interceptor.Funcs{},
		pods.Make("p", noon).Change(owned(owner)).Obj(), pods.Make("theirs", noon).Change(owned(other)).Obj())
	w.ownership.add("uid-root", owner.UID)
	before, after := workload("root"), workload("root")
	after.Annotations = map[string]string{"theirs": "changed"}
	w.Wake(before, after)
	if len(w.woken) != 0 {
		t.Error("pods are enqueued for an unrelated annotation")
	}
	after.Annotations[memory.RetriesAnnotation] = "3"
	w.Wake(before, after)
	if len(w.woken) != 1 {
		t.Fatalf("%d pods were enqueued", len(w.woken))
	}
	if e := <-w.woken; e.Object.GetName() != "p" || e.Object.GetNamespace() != "default" {
		t.Errorf("enqueued: %s", e.Object.GetName())
	}
}

func TestPodBlamedByOwnerIsReconciled(t *testing.T) {
	w := newWorld(t, settings.Default(), interceptor.Funcs{})
	before, after := workload("set"), workload("set")
	blamed := history.Entry{Kind: history.InPlace, Worker: "w-0-0", Pod: "abc", Node: "a"}
	after.Annotations = map[string]string{history.Annotation: history.Format([]history.Entry{blamed})}
	w.Wake(before, after)
	if len(w.woken) != 0 {
		t.Error("a standby enqueued a pod")
	}
	w.ownership.add(after.UID, "uid-job")
	w.Wake(before, after)
	if len(w.woken) != 1 {
		t.Fatalf("%d pods were enqueued", len(w.woken))
	}
	if e := <-w.woken; e.Object.GetName() != "set-w-0-0-abc" {
		t.Errorf("enqueued: %s", e.Object.GetName())
	}
}

func TestSweepForgetsControllersWithoutPods(t *testing.T) {
	lives := workload("lives")
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, stored(lives), pods.Make("p", noon).Change(owned(lives)).Obj())
	w.ownership.add(lives.UID, lives.UID)
	w.ownership.add("uid-gone", "uid-gone")
	w.ok(w.Sweep(t.Context()))
	if len(w.ownership.of(lives.UID)) != 1 || len(w.ownership.of("uid-gone")) != 0 {
		t.Errorf("children: %v", w.ownership.children)
	}
}
