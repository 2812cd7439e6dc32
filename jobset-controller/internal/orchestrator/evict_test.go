package orchestrator

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// countedReads is a store that counts how often a group is read.
type countedReads struct {
	rounds.Leader
	n int
}

func (c *countedReads) Read(ctx context.Context, group string) (*rounds.Stored, error) {
	c.n++
	return c.Leader.Read(ctx, group)
}

// Reading a group takes three round trips, and the reply has a field for every pod that was released in the generation.
func TestPodsLostTogetherNeedOneRead(t *testing.T) {
	readsFor := func(lost int) int {
		g := fourPods(t)
		for index := range lost {
			g.see(g.remove(index), true)
		}
		reads := &countedReads{Leader: g.store}
		g.r.Store = reads
		g.reconcile()
		if n := len(g.group().Fenced); n != lost {
			t.Errorf("the store fences %d pods, want %d", n, lost)
		}
		for index := range lost {
			g.wantPods(fmt.Sprint(index), 1)
		}
		return reads.n
	}
	if one, three := readsFor(1), readsFor(3); one != three || one > 4 {
		t.Errorf("one pod costs %d reads, three cost %d", one, three)
	}
}
