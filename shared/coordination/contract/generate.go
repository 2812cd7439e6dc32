package contract

import (
	"fmt"
	"math/rand/v2"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// generator makes steps of which most are what agents and leaders do, and some are what they never should.
type generator struct {
	rand *rand.Rand
	core runner
	now  Outcome
}

func (g *generator) next() Step {
	switch n := g.rand.IntN(100); {
	case n < 52:
		return Step{Verb: "join", Who: g.who(), Seen: g.seen()}
	case n < 56:
		return Step{Verb: "evict", Who: g.who(), Open: coordination.Open{Token: g.token()}}
	case n < 82:
		return Step{Verb: "down", Who: g.who(), Seen: g.seen(), Code: g.code(), Ordered: g.one(3)}
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
	if g.one(12) {
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

// seen is nothing, or near the truth, or far from it.
func (g *generator) seen() coordination.Seen {
	if g.one(2) {
		return coordination.Unseen()
	}
	s := coordination.Seen{
		Epoch: g.now.Summary.Epoch, Round: g.now.Summary.Round,
		Holds: !g.one(3), Running: g.one(2), Instances: g.rand.Int64N(3),
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
	if g.one(4) {
		s.Open.Stages = [][]coordination.Stage{
			{{Prefix: prefix + "w", Jobs: 1, Pods: 2}},
			{{Prefix: prefix + "w", Jobs: 1, Pods: 2}, {Prefix: prefix + "x", Jobs: 1, Pods: 1}},
			{{Prefix: prefix + "w", Jobs: 1, Pods: 1}},
		}[g.rand.IntN(3)]
	}
	if g.one(3) {
		s.Open.Done = []string{prefix + "w-0-0", prefix + "w-0-2"}[:1+g.rand.IntN(2)]
	}
	return s
}

func (g *generator) recreate() Step {
	return Step{
		Verb: "recreate", Kind: coordination.KindTimeout, Round: g.now.Summary.Round,
		Open: coordination.Open{Token: g.token(), Epoch: g.now.Summary.Epoch},
	}
}
