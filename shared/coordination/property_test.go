package coordination

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// shapes are the groups that TestInvariants plays with. Slots are named after the first letter of their stage.
var shapes = [][]Stage{
	{{Prefix: "w", Jobs: 1, Pods: 3}},
	{{Prefix: "a", Jobs: 1, Pods: 1}, {Prefix: "b", Jobs: 1, Pods: 2, Step: 1}},
	{{Prefix: "a", Jobs: 1, Pods: 2, Release: ReleaseGate}, {Prefix: "b", Jobs: 1, Pods: 1}, {Prefix: "c", Jobs: 1, Pods: 2, Step: 1, Release: ReleaseNeeded}},
	{{Prefix: "a", Jobs: 2, Pods: 1, Release: ReleaseFree}, {Prefix: "b", Jobs: 1, Pods: 1, Step: 1, Release: ReleaseFree}},
}

// TestInvariants runs random calls against one group and checks after each that its counters are the truth, that an
// epoch's round never falls but while recovering, that rounds open one at a time and within the budget, and that steps
// enter in order and whole. A third of the groups waits at a barrier, a third does not, in a third it depends.
func TestInvariants(t *testing.T) {
	for seed := range uint64(4500) {
		p := player{rand: rand.New(rand.NewPCG(seed, 1)), barriers: int(seed % 3)}
		stages := shapes[p.rand.IntN(len(shapes))]
		g, err := NewGroup(Open{Incarnation: "i", Epoch: 1, Limit: 4, Stages: stages}, 1)
		if err != nil {
			t.Fatal(err)
		}
		var log []string
		for now := range int64(60) {
			before := g.Level
			log = append(log, p.call(g, now))
			if broken := invariant(g, before); broken != "" {
				t.Fatalf("seed %d: %s after\n%v\n%+v", seed, broken, log, g)
			}
		}
	}
}

type player struct {
	rand     *rand.Rand
	barriers int // 0: none, 1: all, 2: some
}

func (p player) one(in int) bool { return p.rand.IntN(in) == 0 }

func (p player) barrier() bool { return p.barriers == 1 || (p.barriers == 2 && p.one(2)) }

func (p player) speaker(g *Group) (Member, Instance) {
	stage := g.Stages[p.rand.IntN(len(g.Stages))]
	pod, life := int64(1), p.rand.Int64N(4)+1
	if p.one(8) {
		pod = 2
	}
	m := Member{Slot: stage.Slot(p.rand.Int64N(stage.Jobs), p.rand.Int64N(stage.Pods)), PodBorn: pod}
	m.Pod = fmt.Sprint(m.Slot, "/", pod)
	return m, Instance{ID: fmt.Sprintf("%s/%d", m.Pod, life), Born: pod*100 + life}
}

func (p player) seen(g *Group) Seen {
	if !p.one(4) {
		return Unseen()
	}
	return Seen{
		Epoch: p.rand.Int64N(2) + g.Epoch - 1, Round: p.rand.Int64N(4), Holds: p.one(2), Running: p.one(2),
		Entered: p.one(2), Instances: p.rand.Int64N(3),
	}
}

func (p player) call(g *Group, now int64) string {
	m, i := p.speaker(g)
	seen := p.seen(g)
	switch n := p.rand.IntN(40); {
	case n < 20:
		r, err := g.Join(Join{Member: m, Instance: i, Barrier: p.barrier(), Seen: seen, RunsFor: p.rand.Int64N(2)}, now)
		return fmt.Sprintf("join %s %+v %+v %v\n", i.ID, seen, r, err)
	case n < 22:
		return fmt.Sprintf("evict %s %v\n", m.Pod, g.Evict(Token{}, m.Slot, m.Pod, now))
	case n < 36:
		code, ordered := p.rand.Int64N(2), p.one(3)
		r, err := g.Down(Down{Member: m, Instance: i, Barrier: p.barrier(), ExitCode: code, Ordered: ordered, Seen: seen}, now)
		return fmt.Sprintf("down %s code=%d ordered=%v %+v %+v %v\n", i.ID, code, ordered, seen, r, err)
	case n < 38:
		return p.open(g, now)
	case n == 38:
		err := g.Recreate(Token{}, g.Epoch, g.Round, KindTimeout)
		return fmt.Sprintf("recreate %v\n", err)
	default:
		_, err := g.Ask(m, KindGap, now)
		return fmt.Sprintf("ask %s %v\n", m.Slot, err)
	}
}

func (p player) open(g *Group, now int64) string {
	o := Open{Epoch: g.Epoch + p.rand.Int64N(2), Limit: 4, Stages: g.Stages, Suspended: p.one(3)}
	if p.one(3) {
		o.Stages = shapes[p.rand.IntN(len(shapes))]
	}
	if p.one(2) {
		o.Done = []string{o.Stages[0].Slot(0, 0), o.Stages[0].Slot(0, 1)}[:1+p.rand.IntN(2)]
	}
	return fmt.Sprintf("open %+v %v\n", o, g.Open(o, now))
}

func invariant(g *Group, before Level) string {
	for name, s := range g.Slots {
		if g.Fenced[s.Pod] && !s.Dead && !g.Counts[g.stage(name)].Left {
			return "a fenced pod lives in slot " + name
		}
	}
	within := g.Epoch == before.Epoch && g.Generation == before.Generation && before.Phase != Recovering
	switch {
	case g.Phase != Closed && miscounted(g) != "": // in a closed one nobody counts; the next opening starts anew
		return miscounted(g)
	case g.Phase != Completed && g.Size()-g.Joined() != int64(len(g.Missing())):
		return fmt.Sprintf("%d of %d joined, missing %v", g.Joined(), g.Size(), g.Missing())
	case g.Phase == Running && !g.inSync():
		return "running out of sync"
	case within && g.Round < before.Round:
		return "the round fell"
	case within && g.Round > before.Round+2:
		return "rounds were skipped"
	case g.Round > g.Limit:
		return "over the budget"
	case g.Level != before && g.Seq <= before.Seq:
		return "the level changed without a broadcast"
	case g.Level.Steps != g.tokens() || !areTokens(g.Level.Steps):
		return fmt.Sprintf("the level says %s, the steps are %s", g.Level.Steps, g.tokens())
	}
	return misplaced(g, within, before)
}

func miscounted(g *Group) string {
	counts := make([]Count, len(g.Counts))
	for name, s := range g.Slots {
		i := g.stage(name)
		if !g.counted(i, s) {
			continue
		}
		counts[i].Joined++
		if s.Finished {
			counts[i].Done++
		}
		if s.Finished && !g.runsAgain(i, s) {
			counts[i].Gone++
		}
	}
	for i, c := range g.Counts {
		if !c.Left && c != counts[i] {
			return fmt.Sprintf("stage %d is %+v, the counters say %+v", i, counts[i], c)
		}
	}
	return ""
}

// misplaced tells what is wrong with the steps.
func misplaced(g *Group, within bool, before Level) string {
	forming := false
	for k, step := range g.Steps {
		was, wasEntered := before.Entered(int64(k))
		switch {
		case step.Entered > g.Round:
			return fmt.Sprintf("step %d entered at %d, the group is at %d", k, step.Entered, g.Round)
		case within && wasEntered && !g.left(k) && step.Entered != was:
			return fmt.Sprintf("step %d entered at %d and again at %d", k, was, step.Entered)
		case within && !wasEntered && !before.Left(int64(k)) && step.Entered != NoRound && forming:
			return fmt.Sprintf("step %d entered before an earlier one", k)
		case step.Entered == NoRound && !g.left(k) && g.Phase == Running && g.complete(k) && !forming:
			return fmt.Sprintf("step %d has joined and was not let in", k)
		}
		forming = forming || (step.Entered == NoRound && !g.left(k))
	}
	if g.Phase == Forming && g.inSync() {
		return "forming with a step that has entered"
	}
	return ""
}
