package memory

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

const group = "uid"

// shapes are the groups that TestInvariants plays with.
var shapes = [][]coordination.Stage{
	{{Prefix: "w", Jobs: 1, Pods: 3}},
	{{Prefix: "a", Jobs: 1, Pods: 1}, {Prefix: "b", Jobs: 1, Pods: 2, Step: 1}},
	{
		{Prefix: "a", Jobs: 1, Pods: 2, Release: coordination.ReleaseGate}, {Prefix: "b", Jobs: 1, Pods: 1},
		{Prefix: "c", Jobs: 1, Pods: 2, Step: 1, Release: coordination.ReleaseNeeded},
	},
	{{Prefix: "a", Jobs: 2, Pods: 1, Release: coordination.ReleaseFree}, {Prefix: "b", Jobs: 1, Pods: 1, Step: 1, Release: coordination.ReleaseFree}},
}

// TestInvariants makes random calls and checks after each that the counters agree with the slots, that the round of an epoch
// never falls except while the group recovers, that it stays within the budget, that steps enter in order, and that no change
// goes without a broadcast. In a third of the groups all workers wait at a barrier, in a third none, in a third some.
func TestInvariants(t *testing.T) {
	for seed := range uint64(150) {
		p := player{rand: rand.New(rand.NewPCG(seed, 1)), barriers: int(seed % 3)}
		now := time.UnixMilli(0)
		server, err := NewServer(Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		o := coordination.Open{Incarnation: "i", Epoch: 1, Limit: 4, Stages: shapes[p.rand.IntN(len(shapes))]}
		if _, err := server.Open(group, o); err != nil {
			t.Fatal(err)
		}
		var log []string
		g := read(t, server)
		for ms := range int64(60) {
			now = time.UnixMilli(ms)
			before := g
			log = append(log, p.call(server, g))
			g = read(t, server)
			if broken := violated(t, server, g, before); broken != "" {
				t.Fatalf("seed %d: %s after\n%v\n%+v", seed, broken, log, g)
			}
		}
	}
}

func read(t *testing.T, s *Server) *Group {
	t.Helper()
	g, err := s.Group(group)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

type player struct {
	rand     *rand.Rand
	barriers int // 0: none, 1: all, 2: some
}

func (p player) one(in int) bool { return p.rand.IntN(in) == 0 }

func (p player) barrier() bool { return p.barriers == 1 || (p.barriers == 2 && p.one(2)) }

func (p player) speaker(g *Group) (coordination.Member, coordination.Instance) {
	stage := g.Stages[p.rand.IntN(len(g.Stages))]
	pod, life := int64(1), p.rand.Int64N(4)+1
	if p.one(8) {
		pod = 2
	}
	m := coordination.Member{Slot: stage.Slot(p.rand.Int64N(stage.Jobs), p.rand.Int64N(stage.Pods)), PodBorn: pod}
	m.Pod = fmt.Sprint(m.Slot, "/", pod)
	return m, coordination.Instance{ID: fmt.Sprintf("%s/%d", m.Pod, life), Born: pod*100 + life}
}

func (p player) seen(g *Group) coordination.Seen {
	if !p.one(4) {
		return coordination.Unseen()
	}
	return coordination.Seen{
		Epoch: p.rand.Int64N(2) + g.Epoch - 1, Round: p.rand.Int64N(4), Holds: p.one(2), Running: p.one(2),
		Entered: p.one(2), Instances: p.rand.Int64N(3),
	}
}

func (p player) call(s *Server, g *Group) string {
	m, i := p.speaker(g)
	seen := p.seen(g)
	switch n := p.rand.IntN(40); {
	case n < 20:
		r, err := s.Join(group, coordination.Join{Member: m, Instance: i, Barrier: p.barrier(), Seen: seen})
		return fmt.Sprintf("join %s %+v %+v %v\n", i.ID, seen, r, err)
	case n < 22:
		_, err := s.Evict(group, coordination.Token{}, m.Slot, m.Pod)
		return fmt.Sprintf("evict %s %v\n", m.Pod, err)
	case n < 36:
		code, ordered := p.rand.Int64N(2), p.one(3)
		r, err := s.Down(group, coordination.Down{Member: m, Instance: i, Barrier: p.barrier(), ExitCode: code, Ordered: ordered, Seen: seen})
		return fmt.Sprintf("down %s code=%d ordered=%v %+v %+v %v\n", i.ID, code, ordered, seen, r, err)
	case n < 38:
		return p.open(s, g)
	case n == 38:
		_, err := s.Recreate(group, coordination.Token{}, g.Epoch, g.Round, coordination.KindTimeout)
		return fmt.Sprintf("recreate %v\n", err)
	default:
		_, err := s.Ask(group, m, coordination.KindGap)
		return fmt.Sprintf("ask %s %v\n", m.Slot, err)
	}
}

func (p player) open(s *Server, g *Group) string {
	o := coordination.Open{Epoch: g.Epoch + p.rand.Int64N(2), Limit: 4, Stages: g.Stages, Suspended: p.one(3)}
	if p.one(3) {
		o.Stages = shapes[p.rand.IntN(len(shapes))]
	}
	if p.one(2) {
		o.Done = []string{o.Stages[0].Slot(0, 0), o.Stages[0].Slot(0, 1)}[:1+p.rand.IntN(2)]
	}
	_, err := s.Open(group, o)
	return fmt.Sprintf("open %+v %v\n", o, err)
}

// violated names the invariant that a call has violated.
func violated(t *testing.T, s *Server, g, before *Group) string {
	t.Helper()
	missing, err := s.Missing(group)
	if err != nil {
		t.Fatal(err)
	}
	within := g.Epoch == before.Epoch && g.Generation == before.Generation && before.Phase != coordination.Recovering
	switch {
	case g.Phase != coordination.Closed && g.Phase != coordination.Completed && g.Size-g.Joined != int64(len(missing)):
		return fmt.Sprintf("%d of %d have joined, missing are %v", g.Joined, g.Size, missing)
	case within && g.Round < before.Round:
		return "the round fell"
	case within && g.Round > before.Round+2:
		return "rounds were skipped"
	case g.Round > g.Limit:
		return "the budget is exceeded"
	case g.Level != before.Level && g.Seq <= before.Seq:
		return "the level changed without a broadcast"
	}
	return misplaced(g, before.Level, within)
}

// misplaced says what is wrong with the steps, and with the pods in the slots.
func misplaced(g *Group, before coordination.Level, within bool) string {
	steps, forming, anyEntered := int64(0), false, false
	for i, stage := range g.Stages {
		steps = max(steps, stage.Step+1)
		for name, s := range g.Slots {
			if stage.Has(name) && g.Fenced[s.Pod] && !s.Dead && !g.Counts[i].Left {
				return "a fenced pod lives in slot " + name
			}
		}
	}
	for k := range steps {
		at, entered := g.Entered(k)
		was, hadEntered := before.Entered(k)
		switch {
		case at > g.Round:
			return fmt.Sprintf("step %d entered at %d, the group is at %d", k, at, g.Round)
		case within && entered && hadEntered && at != was:
			return fmt.Sprintf("step %d entered at %d and again at %d", k, was, at)
		case within && entered && !hadEntered && !before.Left(k) && forming:
			return fmt.Sprintf("step %d entered before an earlier one", k)
		}
		forming, anyEntered = forming || (!entered && !g.Left(k)), anyEntered || entered
	}
	if g.Phase == coordination.Running && anyEntered && g.Joined != g.Size {
		return "running out of sync"
	}
	return ""
}
