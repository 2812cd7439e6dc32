package orchestrator

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// countStatus counts all further writes of conditions.
func (g *rig) countStatus() *int {
	n := new(int)
	g.r.Client = g.through(interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, o ...client.SubResourceApplyOption) error {
			*n++
			return c.SubResource(sub).Apply(ctx, obj, o...)
		},
	})
	return n
}

// asked counts how often the leader queries the store for missing workers.
type asked struct {
	rounds.Leader
	n int
}

func (a *asked) Look(ctx context.Context, group, table string, slots []string) (map[string]string, error) {
	if table != rounds.KeysOf(group).Holders(1) {
		a.n++
	}
	return a.Leader.Look(ctx, group, table, slots)
}

func (g *rig) message(kind string) string {
	g.Helper()
	c := meta.FindStatusCondition(g.jobSet().Status.Conditions, kind)
	if c == nil {
		g.Fatalf("there is no condition %s", kind)
	}
	return c.Message
}

func (g *rig) wantLate(want string) {
	g.Helper()
	for _, kind := range []string{ConditionInSync, ConditionRecovering} {
		got := g.message(kind)
		if _, late, _ := strings.Cut(got, "of generation 1"); late != want {
			g.Errorf("%s is %q, want it to end with %q", kind, got, want)
		}
	}
}

func TestSlowRestartReportsMissingWorkersOnce(t *testing.T) {
	g := formed(t)
	store := &asked{Leader: g.store}
	g.r.Store = store
	writes := g.countStatus()
	g.fail("js-w-0-1", 1, 1)
	if next := g.reconcile(); next <= 0 || next > 2*time.Second {
		t.Errorf("next reconcile after %s", next)
	}
	g.wantLate("")
	g.pass(2*time.Second - time.Millisecond)
	g.wantLate("")
	if *writes != 1 || store.n != 0 {
		t.Fatalf("%d writes and %d queries of the store before a worker is late", *writes, store.n)
	}
	g.pass(time.Millisecond)
	g.wantLate("; not back after 2s: js-w-0-0, js-w-0-1")
	g.joinSlot("js-w-0-0", 1, 2)
	for range 3 {
		g.pass(time.Millisecond) // other events trigger reconciles as well
	}
	g.wantLate("; not back after 2s: js-w-0-0, js-w-0-1")
	if *writes != 2 || store.n != 1 {
		t.Errorf("%d writes and %d queries of the store, want 2 and 1", *writes, store.n)
	}
	g.joinSlot("js-w-0-1", 1, 2)
	g.pass(time.Second)
	g.wantReason("InSync")
	if got := g.message(ConditionInSync); strings.Contains(got, "not back") {
		t.Errorf("the condition is still %q", got)
	}
}

func TestEachRestartReportsItsMissingWorkers(t *testing.T) {
	g := formed(t)
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.joinSlot("js-w-0-0", 1, 2)
	g.pass(3 * time.Second)
	g.wantLate("; not back after 2s: js-w-0-1")
	g.joinSlot("js-w-0-1", 1, 2)
	g.fail("js-w-0-0", 1, 2)
	g.reconcile()
	g.wantLate("")
	g.joinSlot("js-w-0-1", 1, 3)
	g.pass(3 * time.Second)
	g.wantLate("; not back after 2s: js-w-0-0")
}

func TestMissingWorkersAreRequestedAgainAfterAStoreOutage(t *testing.T) {
	g := formed(t)
	g.fail("js-w-0-1", 1, 1)
	g.reconcile()
	g.store.SetReachable(false)
	g.pass(3 * time.Second)
	g.wantLate("")
	g.store.SetReachable(true)
	g.pass(time.Second)
	g.wantLate("; not back after 2s: js-w-0-0, js-w-0-1")
}
