//go:build e2e

package rendezvous

import (
	"context"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework/torch"
)

// each runs a test with every version of torch.
func each(t *testing.T, play func(t *testing.T, v torch.Version)) {
	for _, v := range torch.Versions {
		t.Run("torch "+v.Name, func(t *testing.T) { play(t, v) })
	}
}

func TestTrainingSurvivesFailuresAndScaling(t *testing.T) {
	each(t, func(t *testing.T, v torch.Version) {
		s := serve(t)
		g := s.train(&torch.Group{Version: v, Min: 2, Max: 4}, 3)
		g.goesOn(3, "all workers have joined")

		if err := g.KillWorker(2); err != nil {
			t.Fatal(err)
		}
		g.goesOn(3, "a worker was killed, but not its agent")

		g.KillAgent(3)
		g.goesOn(3, "an agent was killed and replaced")

		g.Scale(4)
		g.goesOn(4, "one agent was added")

		g.Scale(3)
		g.goesOn(3, "one left")

		if err := g.CloseRendezvous(context.Background()); err != nil {
			t.Fatal(err)
		}
		s.await("the rendezvous is open again", func() bool { return s.reopened() && !s.status().Closed })
		g.Scale(4)
		g.goesOn(4, "one agent was added after the rendezvous had been closed")

		s.kill()
		s.start()
		s.await("all agents have joined a server that has no state", func() bool { return s.status().Participants == 4 && s.status().Complete })
		g.goesOn(4, "the server was killed and restarted")
		g.ends(4)
	})
}

// TestRank0 removes rank 0 and adds others in its place. Ranks follow the order of the agents' addresses.
func TestRank0(t *testing.T) {
	each(t, func(t *testing.T, v torch.Version) {
		g := serve(t).train(&torch.Group{Version: v, Min: 2, Max: 4}, 3)
		g.goesOn(3, "all workers have joined")

		g.KillAgent(1)
		g.goesOn(3, "rank 0 was killed and replaced at the same address")

		g.Remove(1)
		g.goesOn(2, "rank 0 was killed and not replaced")

		g.Add(0)
		g.goesOn(3, "an agent was added whose address sorts first")

		g.Remove(0)
		g.Add(1)
		g.goesOn(3, "rank 0 was killed, and an agent with another address was added")
		g.ends(3)
	})
}

// ends waits until the loss has decreased and ends the training. All agents succeed, and no step is missing from the
// model or was applied twice.
func (t *training) ends(agents int) {
	t.rendezvous.Helper()
	t.await("the loss has decreased", func() bool { return torch.Check(t.History().Lines()) == nil })
	if err := t.Finish(); err != nil {
		t.Fatal(err)
	}
	t.Group.Wait()
	if t.Done() != agents {
		t.Errorf("%d of %d agents succeeded", t.Done(), agents)
	}
	lines := t.History().Lines()
	if err := torch.Check(lines); err != nil {
		t.Error(err)
	}
	if err := t.Verify(context.Background()); err != nil {
		t.Error(err)
	}
	t.Logf("%d steps, loss %.4f to %.4f; %d agents ended before", len(lines), lines[0].Loss, t.History().Last().Loss, t.Ends())
}
