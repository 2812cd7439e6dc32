package simulation

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// scene is a world in which the test decides what happens. Its group starts in sync.
type scene struct {
	*world
	t *testing.T
}

// plain returns the shape for a JobSet with three workers and without random faults.
func plain() Shape { return shape("scene", workers(CRI, 1, 3), everything(), 1) }

func enter(t *testing.T, shape Shape) *scene {
	t.Helper()
	s := &scene{newWorld(1, shape, Mutant{}, &transcript{on: true}), t}
	s.settles(time.Minute)
	return s
}

// enterForming returns a scene in which only the first worker has been started so far.
func enterForming(t *testing.T, shape Shape) *scene {
	t.Helper()
	s := &scene{newWorld(1, shape, Mutant{}, &transcript{on: true}), t}
	s.until(time.Minute, "one worker has joined", func() bool { g := s.group(); return g != nil && g.Joined == 1 })
	return s
}

// worker returns the pod of the n-th slot.
func (s *scene) worker(n int) *pod {
	s.t.Helper()
	p := s.podOf(s.api.current.uid, s.slots[n])
	if p == nil {
		s.lose("%s has no pod", s.slots[n])
	}
	return p
}

func (s *scene) faults(faults ...Fault) {
	for _, f := range faults {
		s.inject(f)
	}
}

// passes advances the time. All invariants must hold.
func (s *scene) passes(d time.Duration) {
	s.t.Helper()
	s.run(d)
	if s.breach != nil {
		s.lose("%v", s.breach)
	}
}

// settles waits up to d for the group to be in sync.
func (s *scene) settles(d time.Duration) {
	s.t.Helper()
	s.until(d, "the group is in sync", func() bool { return s.unsettled() == "" })
}

func (s *scene) until(d time.Duration, what string, done func() bool) {
	s.t.Helper()
	for limit := s.now + d; !done(); {
		if s.now >= limit {
			s.lose("not observed within %s: %s (%s)", d, what, s.unsettled())
		}
		s.passes(5 * time.Millisecond)
	}
}

func (s *scene) lose(format string, args ...any) {
	s.t.Helper()
	s.t.Log("\n" + s.log.String())
	s.t.Fatalf(format, args...)
}

// wants checks the generation, the round, the charged restarts, and the number of stop orders so far.
func (s *scene) wants(generation, round int64, charged int32, orders int) {
	s.t.Helper()
	g, js := s.group(), s.api.current
	if g == nil || g.Generation != generation || g.Round != round || js.charged != charged || s.truth.orders != orders {
		s.lose("level %v, %d charged, %d orders; want round %d.%d, %d charged, %d orders", g.Level, js.charged, s.truth.orders, generation, round, charged, orders)
	}
}

func (s *scene) phase() coordination.Phase {
	if g := s.group(); g != nil {
		return g.Phase
	}
	return ""
}

func (s *scene) at(p coordination.Phase) func() bool { return func() bool { return s.phase() == p } }
