package coordination

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestInvariants runs random calls against one group and checks after each that its counters are the truth, that an
// epoch's round never falls but while recovering, and that rounds open one at a time and within the budget.
func TestInvariants(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		g, err := NewGroup(Open{Incarnation: "i", Epoch: 1, Limit: 4, Stages: []Stage{{"j-w", 1, 3}}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		var log []string
		for now := range int64(60) {
			before := g.Level
			log = append(log, randomCall(r, g, now))
			if broken := invariant(g, before); broken != "" {
				t.Fatalf("seed %d: %s after\n%v\n%+v", seed, broken, log, g)
			}
		}
	}
}

func randomCall(r *rand.Rand, g *Group, now int64) string {
	pod, life := r.Int64N(2)+1, r.Int64N(6)+1
	m := Member{Slot: fmt.Sprintf("j-w-0-%d", r.IntN(3)), Pod: fmt.Sprint("p", pod), PodBorn: pod}
	m.Pod = m.Slot + m.Pod
	i := Instance{ID: fmt.Sprintf("%s/%d", m.Pod, life), Born: pod*100 + life}
	seen := Unseen()
	if r.IntN(4) == 0 {
		seen = Seen{Epoch: r.Int64N(2) + g.Epoch - 1, Round: r.Int64N(4), Holds: r.IntN(2) == 0, Running: r.IntN(2) == 0, Instances: 1}
	}
	switch n := r.IntN(20); {
	case n < 10:
		_, err := g.Join(Join{m, i, seen}, now)
		return fmt.Sprintf("join %s %+v %v\n", i.ID, seen, err)
	case n < 11:
		err := g.Evict(Token{}, m.Slot, m.Pod, now)
		return fmt.Sprintf("evict %s %v\n", m.Pod, err)
	case n < 18:
		code, ordered := r.Int64N(2), r.IntN(2) == 0
		_, err := g.Down(Down{Member: m, Instance: i, ExitCode: code, Ordered: ordered, Seen: seen}, now)
		return fmt.Sprintf("down %s code=%d ordered=%v %+v %v\n", i.ID, code, ordered, seen, err)
	case n == 18:
		err := g.Open(Open{Epoch: g.Epoch + r.Int64N(2), Limit: 4, Stages: g.Stages, Suspended: r.IntN(2) == 0}, now)
		return fmt.Sprintf("open %v\n", err)
	default:
		_, err := g.Ask(m, KindGap)
		return fmt.Sprintf("ask %s %v\n", m.Slot, err)
	}
}

func invariant(g *Group, before Level) string {
	var joined, done int64
	for _, s := range g.Slots {
		if g.counted(s) {
			joined++
		}
		if s.Finished {
			done++
		}
		if g.Fenced[s.Pod] && !s.Dead {
			return "a fenced pod lives in a slot"
		}
	}
	switch {
	case g.Phase == Closed: // nobody counts; the next opening starts anew
	case joined != g.Joined:
		return fmt.Sprintf("%d joined, counter says %d", joined, g.Joined)
	case g.Size()-joined != int64(len(g.Missing())):
		return fmt.Sprintf("%d of %d joined, missing %v", joined, g.Size(), g.Missing())
	case done != g.Done:
		return fmt.Sprintf("%d finished, counter says %d", done, g.Done)
	case g.Phase == Running && joined != g.Size():
		// A finished worker keeps its place; a dead one never does.
		return fmt.Sprintf("running with %d of %d", joined, g.Size())
	case g.Epoch == before.Epoch && g.Generation == before.Generation && before.Phase != Recovering && g.Round < before.Round:
		return "the round fell"
	case g.Epoch == before.Epoch && g.Generation == before.Generation && before.Phase != Recovering && g.Round > before.Round+2:
		return "rounds were skipped"
	case g.Round > g.Limit:
		return "over the budget"
	case g.Level != before && g.Seq <= before.Seq:
		return "the level changed without a broadcast"
	}
	return ""
}
