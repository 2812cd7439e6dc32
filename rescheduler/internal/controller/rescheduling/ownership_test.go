package rescheduling

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// A CronJob may create a Job every minute, so owners without pods must be dropped.
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

// Hanging pods have no events. If a user later allows moves, or allows more of them, the change also applies to these
// pods.
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

// A pod waits until the deadline of a recovery, which may end much earlier.
func TestPodWaitingForRecoveryIsReconciledWhenItEnds(t *testing.T) {
	direct := workload("w")
	waits, other := pods.Make("waits", noon).Change(owned(direct)).Obj(), pods.Make("other", noon).Change(owned(direct)).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, waits, other)
	w.ownership.add("uid-root", direct.UID)
	w.observed.markRecovering(waits.UID)
	before, after := workload("root"), workload("root")
	before.Annotations = map[string]string{recovering.Annotation: recovering.State{Level: recovering.LevelGroup, Deadline: noon.Add(time.Hour)}.Format()}
	w.Wake(before, before)
	if len(w.woken) != 0 {
		t.Error("pods are enqueued although the recovery has not changed")
	}
	w.Wake(before, after)
	if len(w.woken) != 1 {
		t.Fatalf("%d pods were enqueued", len(w.woken))
	}
	if e := <-w.woken; e.Object.GetName() != "waits" {
		t.Errorf("enqueued: %s", e.Object.GetName())
	}
	w.observed.recovered(waits.UID, time.Time{}, noon)
	if w.Wake(before, after); len(w.woken) != 0 {
		t.Error("the pod is enqueued again after the end was observed")
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
	w.Sweep(t.Context())
	if len(w.ownership.of(lives.UID)) != 1 || len(w.ownership.of("uid-gone")) != 0 {
		t.Errorf("children: %v", w.ownership.children)
	}
}
