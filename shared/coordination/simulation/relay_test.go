package simulation

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

func withRelays() Shape {
	return relayed(shape("scene", workers(Exec, 1, 4), everything(), 1), nil)
}

// relayLosses returns a shape with relays that die, hang or do nothing.
func relayLosses() Shape {
	s := relayed(shape("lost", workers(Exec, 1, 4), chances(1, RelayDies, RelayIdle, RelayHangs, WorkerDies), 6), nil)
	s.Timeout, s.InPlace = 3*time.Minute, true
	return s
}

// relayedSpares returns a shape with lost pods, some of which are relays.
func relayedSpares() Shape {
	return relayed(withSpares("losses", workers(Exec, 1, 3), 1, lossKinds(), 6), relayKinds())
}

func TestRelays(t *testing.T) {
	// relayedScene returns a running group in which the first worker is the relay of the others.
	relayedScene := func(t *testing.T) *scene {
		s := enter(t, withRelays())
		s.until(2*time.Minute, "all members use the relay", func() bool { return len(s.pods[0].agent.relaying.served) == 3 })
		return s
	}
	stories := map[string]struct {
		relay func(*scene, *agent)
		limit time.Duration
	}{
		"a restart through a relay":                    {func(*scene, *agent) {}, 2 * time.Second},
		"an idle relay delays the restart":             {func(s *scene, r *agent) { r.relaying.idle = s.now + time.Hour }, time.Minute},
		"a relay that hangs delays the restart":        {func(s *scene, r *agent) { r.pause(time.Hour) }, 15 * time.Minute},
		"a relay that falls behind delays the restart": {func(s *scene, r *agent) { r.relaying.late, r.relaying.lag = s.now+time.Hour, time.Second }, 6 * time.Second},
		"a relay dies, and so does its worker":         {func(_ *scene, r *agent) { r.crash() }, 8 * time.Second},
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			s := relayedScene(t)
			story.relay(s, s.pods[0].agent)
			s.worker(2).die(1)
			began := s.now
			s.until(story.limit, "the next round runs", func() bool {
				g := s.group()
				return g.Phase == coordination.Running && g.Round == 1
			})
			t.Logf("after %s", s.now-began)
		})
	}
}

func TestRelaysJoinSeveralMembersAtOnce(t *testing.T) {
	var calls, several atomic.Int64
	b := RunBatch(0, 50, []Shape{relayLosses()}, Mutant{Batch: func(c rounds.Call) rounds.Call {
		calls.Add(1)
		if len(c.Arguments) > 10 {
			several.Add(1)
		}
		return c
	}})
	if len(b.Broken) > 0 || several.Load() < 20 {
		t.Errorf("%d of %d calls by relays have several members, %v", several.Load(), calls.Load(), b.Broken)
	}
}

// confirmsAll simulates a relay that confirms joins that the store has rejected.
func confirmsAll(replies []reply) {
	for i := range replies {
		replies[i].text = string(rounds.AnswerJoined)
	}
}
