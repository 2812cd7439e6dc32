package orchestrator

import (
	"context"
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

// Each read takes three round trips, and has a field for every pod that was released in the generation.
func TestPodsThatAreLostTogetherCostOneRead(t *testing.T) {
	g := fourPods(t)
	for index := range 3 {
		g.see(g.remove(index), true)
	}
	s, err := g.r.observe(g.ctx, g.jobSet())
	g.must(err)
	reads := &countedReads{Leader: g.store}
	g.r.Store = reads
	g.must(g.r.evictLost(g.ctx, s))
	if reads.n != 1 || len(g.group().Fenced) != 3 || len(s.group.Fenced) != 3 {
		t.Errorf("%d reads, the store fences %q and the leader knows of %q", reads.n, g.group().Fenced, s.group.Fenced)
	}
}

func TestPodsThatAreReplacedTogetherCostOneRead(t *testing.T) {
	g := fourPods(t)
	for index := range 3 {
		g.see(g.remove(index), true)
	}
	s, err := g.r.observe(g.ctx, g.jobSet())
	g.must(err)
	g.must(g.r.evictLost(g.ctx, s))
	reads := &countedReads{Leader: g.store}
	g.r.Store = reads
	g.must(g.r.replace(g.ctx, s))
	g.wantPods("2", 1)
	if reads.n != 1 {
		t.Errorf("%d reads, want 1", reads.n)
	}
}
