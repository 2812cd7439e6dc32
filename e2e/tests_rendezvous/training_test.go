//go:build e2e

package tests_rendezvous

import (
	"context"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/torch"
)

// TestTrainingGoesOn plays a training with everything that happens to it, over each of torch's elastic backends.
func TestTrainingGoesOn(t *testing.T) {
	for _, backend := range []string{"c10d", "etcd-v2", "etcd"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			g := s.train(backend, 3, 2, 4)
			g.goesOn(3, "they have met")

			if err := g.KillWorker(1); err != nil {
				t.Fatal(err)
			}
			g.goesOn(3, "a worker was killed, its agent was not")

			g.KillAgent(2)
			g.goesOn(3, "an agent was killed, another came")

			g.Scale(4)
			g.goesOn(4, "one more came")

			g.Scale(3)
			g.goesOn(3, "one left")

			if err := g.CloseRendezvous(context.Background()); err != nil {
				t.Fatal(err)
			}
			s.await("the rendezvous is open again", func() bool { return s.status().LastOpened != nil && !s.status().Closed })
			g.Scale(4)
			g.goesOn(4, "one more came after the rendezvous had been closed")

			s.kill()
			s.start()
			// Agents that notice end, and are started again; those of etcd that do not ask just then notice nothing. A worker dies, so that all meet.
			_ = g.KillWorker(0)
			g.goesOn(4, "the server was killed and came back without its memory")
			if at := s.status(); at.Participants != 4 || !at.Complete {
				t.Errorf("the server says %+v", at)
			}

			if err := g.Finish(); err != nil {
				t.Fatal(err)
			}
			g.Wait()
			if g.Done() != 4 {
				t.Errorf("%d of 4 agents succeeded", g.Done())
			}
			lines := g.History().Lines()
			if err := torch.Check(lines); err != nil {
				t.Error(err)
			}
			t.Logf("%d steps, loss %.4f to %.4f; %d agents ended before", len(lines), lines[0].Loss, g.History().Last().Loss, g.Ends())
		})
	}
}
