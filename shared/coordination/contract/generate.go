package contract

import (
	"fmt"
	"math/rand/v2"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// generator makes steps of which most are what agents and leaders do, and some are what they never should.
type generator struct {
	rand     *rand.Rand
	store    runner
	now      Outcome
	shape    []coordination.Stage // what the group mostly is
	barriers int                  // 0: no instance waits at one, 1: all do, 2: some do
}

// shapes are groups of the stages w and x, in one step or in two, with all releases.
var shapes = []string{
	"w:1x3", "w:1x3/0/free", "w:1x2,x:1x1", "w:1x2,x:1x1/1", "x:1x2,w:1x3/1", "w:1x2/0/gate,x:1x2/1", "w:1x2/0/gate,x:1x1",
	"w:1x3/0/needed,x:1x1", "w:1x1/1/needed,x:1x2", "w:1x2/0/free,x:1x1/1/gate", "w:1x2/2,x:1x1", "w:1x1,x:1x0/1",
}

func newGenerator(seed uint64) *generator {
	g := &generator{rand: rand.New(rand.NewPCG(seed, 1)), store: runner{Harness: InMemory()}}
	g.barriers = g.rand.IntN(3)
	if g.shape = parseStages(shapes[0]); !g.one(3) {
		g.shape = g.anyShape()
	}
	return g
}

func (g *generator) anyShape() []coordination.Stage {
	return parseStages(shapes[g.rand.IntN(len(shapes))])
}

func (g *generator) barrier() bool { return g.barriers == 1 || (g.barriers == 2 && g.one(2)) }

func (g *generator) next() Step {
	switch n := g.rand.IntN(100); {
	case n < 52:
		return Step{Verb: "join", Who: g.who(), Barrier: g.barrier(), Seen: g.seen(), RunsFor: g.milliseconds(), GoneFor: g.milliseconds(), Ahead: g.ahead("pod", "instance")}
	case n < 56:
		return Step{Verb: "evict", Who: g.who(), Open: coordination.Open{Token: g.token()}}
	case n < 82:
		return Step{Verb: "down", Who: g.who(), Barrier: g.barrier(), Seen: g.seen(), Code: g.code(), Ordered: g.one(3), Exit: g.exit(),
			Ahead: g.ahead("pod", "instance", "failed", "detected")}
	case n < 85:
		return Step{Verb: "ask", Who: g.who(), Kind: coordination.KindGap}
	case n < 94:
		return g.open()
	case n < 96:
		return g.recreate()
	}
	return Step{Verb: []string{"save", "save", "restore", "lose", "drop"}[g.rand.IntN(5)], Open: coordination.Open{Token: g.token()}}
}

func (g *generator) one(in int) bool { return g.rand.IntN(in) == 0 }

func (g *generator) who() string {
	stage := ""
	if g.one(12) || (len(g.shape) > 1 && g.one(3)) {
		stage = "x"
	}
	pod := 1
	if g.one(4) {
		pod += g.rand.IntN(3)
	}
	return fmt.Sprintf("%s%d%c@%d", stage, g.rand.IntN(3), 'a'+rune(g.rand.IntN(4)), pod)
}

func (g *generator) code() int64 {
	if g.one(4) {
		return 0
	}
	return g.rand.Int64N(300) - 10
}

// milliseconds are mostly not said, sometimes said, and now and then impossible.
func (g *generator) milliseconds() int64 {
	if g.one(40) {
		return -1
	}
	return max(0, g.rand.Int64N(6)-3)
}

// ahead is now and then a time that no clock can show.
func (g *generator) ahead(of ...string) string {
	if g.one(40) {
		return of[g.rand.IntN(len(of))]
	}
	return ""
}

func (g *generator) exit() coordination.Exit {
	switch {
	case g.one(4):
		return coordination.Exit{Kind: coordination.KindHang, Signal: 9, Reason: "30s"}
	case g.one(4):
		return coordination.Exit{Kind: coordination.KindExit, Signal: g.rand.Int64N(70), Reason: "OOMKilled"}
	case g.one(40):
		return coordination.Exit{Kind: coordination.KindTimeout}
	}
	return coordination.Exit{}
}

// seen is nothing, or near the truth, or far from it.
func (g *generator) seen() coordination.Seen {
	if g.one(2) {
		return coordination.Unseen()
	}
	s := coordination.Seen{
		Epoch: g.now.Summary.Epoch, Round: g.now.Summary.Round,
		Holds: !g.one(3), Running: g.one(2), Entered: !g.one(3), Instances: g.rand.Int64N(3),
	}
	if g.one(3) {
		s.Round += g.rand.Int64N(4) - 2
	}
	if g.one(8) {
		s.Epoch += g.rand.Int64N(3) - 1
	}
	return s
}

func (g *generator) token() coordination.Token {
	if g.one(6) {
		return coordination.Token{LeaseCreated: 1 + g.rand.Int64N(2), Transitions: g.rand.Int64N(3)}
	}
	return coordination.Token{LeaseCreated: 2, Transitions: 2}
}

func (g *generator) open() Step {
	s := defaults("open")
	s.Open.Token = g.token()
	s.Open.Epoch = max(1, g.now.Summary.Epoch)
	if g.one(5) {
		s.Open.Epoch += g.rand.Int64N(3) - 1
	}
	s.Open.Limit = []int64{5, 5, 5, 1, 0}[g.rand.IntN(5)]
	s.Open.Suspended, s.Open.Recover, s.Open.Reset = g.one(6), g.one(2), g.one(12)
	s.Open.Incarnation = fmt.Sprintf("%c", 'A'+rune(g.rand.IntN(4)))
	s.Open.Stages = g.shape
	if g.one(6) {
		s.Open.Stages = g.anyShape()
	}
	if g.one(3) {
		s.Open.Done = []string{prefix + "w-0-0", prefix + "w-0-2", prefix + "w-0-1"}[:1+g.rand.IntN(3)]
	}
	return s
}

func (g *generator) recreate() Step {
	return Step{
		Verb: "recreate", Kind: coordination.KindTimeout, Round: g.now.Summary.Round,
		Open: coordination.Open{Token: g.token(), Epoch: g.now.Summary.Epoch},
	}
}
