package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// No matter what the leader tries, the store reports only that slot as missing. The forming timeout, which ends the wait, is the
// responsibility of the orchestrator.
func TestWorkerThatNeverStartsIsNamed(t *testing.T) {
	for _, driver := range []Driver{CRI, Exec} {
		t.Run(string(driver), func(t *testing.T) {
			s := enter(t, shape("scene", workers(driver, 1, 3), everything(), 1))
			slot := s.worker(1).slot
			s.faults(Fault{Kind: NeverStarts, Target: 1})
			if len(s.culprits) != 1 || s.culprits[slot] != NeverStarts {
				t.Fatalf("the fault affects %v, want %s", s.culprits, slot)
			}
			s.passes(10 * time.Minute)
			for _, p := range s.pods {
				if p.slot == slot && !p.gone && p.living() != nil {
					t.Errorf("%s runs", p.uid)
				}
			}
			g := s.group()
			if g == nil {
				t.Fatal("the store has no group")
			}
			uid := s.api.current.uid
			joined, err := s.store.first.functions.Look(uid, rounds.KeysOf(uid).Joined(g.Level, 0), g.Units[0].SlotNames())
			if err != nil {
				t.Fatal(err)
			}
			missing := g.Units[0].Missing(joined)
			if g.Phase != coordination.Forming && g.Phase != coordination.Restarting || !slices.Equal(missing, []string{slot}) {
				t.Errorf("the store waits for %v, want %s", missing, slot)
			}
		})
	}
}
