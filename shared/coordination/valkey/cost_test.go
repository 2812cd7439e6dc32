package valkey

import (
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// TestAnOrdinaryRestartReadsNoOtherSlot: forming, failing, restarting and asking cost the same in a group of any size.
// Only a recovery, a new size, a new epoch and the question who is missing read all slots.
func TestAnOrdinaryRestartReadsNoOtherSlot(t *testing.T) {
	ctx := t.Context()
	server := newServer(t)
	store := server.store(t)
	openAndJoin(t, store)
	j := aJoin("0")
	steps := map[string]error{}
	_, steps["the last join"] = store.Join(ctx, uid, aJoin("1"))
	_, steps["a death"] = store.Down(ctx, uid, coordination.Down{Member: j.Member, Instance: j.Instance, ExitCode: 1})
	j.ID, j.Born = "i-0b", 2
	_, steps["a join"] = store.Join(ctx, uid, j)
	_, steps["a request"] = store.Ask(ctx, uid, j.Member, coordination.KindGap)
	_, steps["a summary"] = store.Summary(ctx, uid)
	for step, err := range steps {
		if err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	for _, command := range []string{"hgetall", "hkeys", "hvals", "smembers", "keys", "scan", "hscan", "lrange"} {
		if n := server.calls(command); n != 0 {
			t.Errorf("%s was called %d times", command, n)
		}
	}
	o := anOpening()
	o.Epoch = 2
	mustOpen(t, store, o)
	if n := server.calls("hgetall"); n != 1 {
		t.Errorf("a new epoch read all slots %d times, want 1", n)
	}
}
