package member

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

var errAway = errors.New("connection refused")

// inRound is a living instance "a" that joined round 1 of epoch 1, in sync.
func inRound() []moment {
	return []moment{look("a@10"), reply(1, "A/0 1.1 Running #5")}
}

// TestOrders starts with instance "a" in round 1.
func TestOrders(t *testing.T) {
	cases := map[string]struct {
		moments []moment
		want    string
	}{
		"one round behind is stopped, after the next round is written down": {
			moments: []moment{cast("A/0 1.2 Restarting #6")},
			want:    `round 1.2  save a 1.1 x1 holds running  stop a 10s`,
		},
		"a group that runs in a later round than it was told of is joined again, and nobody is stopped": {
			moments: []moment{read("A/0 1.2 Running #7")},
			want:    `join a 1.1 x1 holds running`,
		},
		"a repeated order changes nothing": {
			moments: []moment{cast("A/0 1.2 Restarting #6"), cast("A/0 1.2 Restarting #6"), read("A/0 1.2 Restarting #6"), tick(time.Second)},
			want:    `round 1.2  save a 1.1 x1 holds running  stop a 10s`,
		},
		"an order that comes after the stop changes nothing": {
			moments: []moment{cast("A/0 1.2 Restarting #6"), stopped("a"), read("A/0 1.2 Restarting #6"), tick(time.Minute)},
			want:    `round 1.2  save a 1.1 x1 holds running  stop a 10s ask unkilled`,
		},
		"equal rounds do nothing": {
			moments: []moment{cast("A/0 1.1 Restarting #6")},
			want:    ``,
		},
		"more than one round apart is reported once and nobody is stopped": {
			moments: []moment{
				cast("A/0 1.3 Restarting #6"), reply(1, "A/0 1.3 Recreating #7"), cast("A/0 1.3 Restarting #8"), tick(time.Hour),
			},
			want: `round 1.3  ask gap`,
		},
		"a request that the store has lost is repeated at the next read": {
			moments: []moment{
				cast("A/0 1.3 Restarting #6"), reply(1, "A/0 1.3 Recreating #7"), read("A/0 1.3 Restarting #6"), reply(1, "A/0 1.3 Recreating #7"),
				read("A/0 1.3 Recreating #7"), tick(time.Hour),
			},
			want: `round 1.3  ask gap  join a 1.1 x1 holds running`,
		},
		"a broadcast of an earlier epoch is ignored, however new it says to be": {
			moments: []moment{cast("A/0 2.0 Closed #7"), cast("A/0 1.2 Restarting #9000000")},
			want:    `join a 1.1 x1 holds running`,
		},
		"a broadcast of fewer rounds is ignored, however new it says to be": {
			moments: []moment{cast("A/0 1.0 Restarting #9000000"), cast("A/0 1.2 Restarting #6")},
			want:    `round 1.2  save a 1.1 x1 holds running  stop a 10s`,
		},
		"a broadcast that cannot be read orders nothing": {
			moments: []moment{lost(coordination.ErrForeignValue), lost(coordination.ErrForeignValue), tick(time.Hour)},
			want:    ``,
		},
		"a broadcast older than what is known is ignored": {
			moments: []moment{cast("A/0 1.1 Running #7"), cast("A/0 1.2 Restarting #6")},
			want:    ``,
		},
		"a level of another epoch makes it join before anything else": {
			moments: []moment{cast("A/0 2.2 Restarting #6")},
			want:    `round 2.2  join a 1.1 x1 holds running`,
		},
		"a level of another generation makes it join before anything else": {
			moments: []moment{cast("A/1 1.2 Restarting #6")},
			want:    `round 1.2  join a 1.1 x1 holds running`,
		},
		"a broadcast of another incarnation is no order: the answer to a join tells": {
			moments: []moment{cast("B/0 1.2 Restarting #1"), reply(1, "A/0 1.1 Running #5"), tick(time.Minute)},
			want:    `join a 1.1 x1 holds running`,
		},
		"no other phase stops anybody": {
			moments: []moment{
				cast("A/0 1.2 Terminal #6"), cast("A/0 1.2 Recreating #7"), cast("A/0 1.2 Closed #8"), cast("A/0 1.2 Forming #9"),
				cast("A/0 1.2 Running #10"), cast("A/0 1.2 Recovering #11"),
			},
			want: `round 1.2 round 1.1`,
		},
		"a stop that failed is tried again for the same instance": {
			moments: []moment{
				cast("A/0 1.2 Restarting #6"), at(0, StopEnded{ID: "a", Err: errAway}), tick(time.Second), tick(time.Second), tick(time.Hour),
			},
			want: `round 1.2  save a 1.1 x1 holds running  stop a 10s  stop a 10s ask unkilled`,
		},
		"a worker that survives grace and half a minute is reported once": {
			moments: []moment{
				cast("A/0 1.2 Restarting #6"), tick(39 * time.Second), tick(2 * time.Second), reply(1, "A/0 1.2 Recreating #7"), tick(time.Hour),
			},
			want: `round 1.2  save a 1.1 x1 holds running  stop a 10s  ask unkilled`,
		},
		"the death that was ordered is reported as ordered, then the next one joins": {
			moments: []moment{
				cast("A/0 1.2 Restarting #6"), look("a@10=143"), look("a@10=143", "b@20"), stopped("a"),
				reply(-1, "A/0 1.2 Restarting #6"), reply(2, "A/0 1.2 Restarting #6"), cast("A/0 1.2 Running #7"),
			},
			want: `round 1.2  save a 1.1 x1 holds running  stop a 10s  down a code=143 ordered=true
				join b 1.1 x1 running  save b 1.2 x1 holds entered  save b 1.2 x1 holds running`,
		},
		"exit 0 after an order has all exited records removed until they are gone": {
			moments: []moment{
				cast("A/0 1.2 Restarting #6"), look("z@5=1", "a@10=0"), look("z@5=1", "a@10=0"), look(),
			},
			want: `round 1.2  save a 1.1 x1 holds running  stop a 10s  remove z a  down z code=1 ordered=false  remove z a`,
		},
		"what exits by itself keeps its record, though one before it cannot be removed": {
			moments: []moment{
				cast("A/0 1.2 Restarting #6"), look("a@10=0"), look("a@10=0", "b@20"), look("a@10=0", "b@20=0"),
			},
			want: `round 1.2  save a 1.1 x1 holds running  stop a 10s  remove a  down a code=0 ordered=true  remove a  remove a`,
		},
		"exit 0 by itself is finished, and its record stays": {
			moments: []moment{look("a@10=0")},
			want:    `round 1.2  down a code=0 ordered=false`,
		},
		"an agent that leaves stops nobody": {
			moments: []moment{at(0, Leaving{}), cast("A/0 1.2 Restarting #6")},
			want:    `round 1.2`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newState(Fresh())
			play(s, false, inRound()...)
			compare(t, play(s, false, tc.moments...), tc.want)
		})
	}
}

func TestNoMoreThanFiveStopsAMinuteWhateverTheStoreSays(t *testing.T) {
	s := newState(Fresh())
	now, stops, waits := start, 0, 0
	step := func(e Event) {
		for _, a := range s.Step(now, e) {
			switch a := a.(type) {
			case Stop:
				stops++
			case Log:
				if a.Message == "too many orders: this one waits" {
					waits++
				}
			}
		}
	}
	restart := func(round int64) {
		born := 10 * (round + 1)
		l := coordination.Level{Incarnation: "A", Epoch: 1, Round: round, Phase: coordination.Running, Seq: 2*round + 1, Steps: "0"}
		step(Observed{5, []Worker{{Instance: coordination.Instance{ID: "i", Born: born}, Running: true}}})
		step(Answered{Reply: coordination.Reply{Level: l, Round: round}})
		l.Round, l.Phase, l.Seq = round+1, coordination.Restarting, l.Seq+1
		step(Told{coordination.Observation{Level: l}})
		if round < 5 {
			step(Observed{5, []Worker{{Instance: coordination.Instance{ID: "i", Born: born}, ExitCode: 143}}})
			step(Answered{Reply: coordination.Reply{Level: l, Round: -1}})
		}
	}
	for round := range int64(6) {
		restart(round)
	}
	step(Tick{})
	if stops != 5 || waits != 1 {
		t.Fatalf("%d stops and %d complaints, want 5 and 1", stops, waits)
	}
	next, ok := s.NextTick()
	if !ok || next.Sub(start) != time.Minute {
		t.Fatalf("next tick in %v (%v), want the end of the minute", next.Sub(start), ok)
	}
	now = next
	step(Tick{})
	if stops != 6 {
		t.Errorf("%d stops after the minute, want 6", stops)
	}
}

func TestRecordsOfOrderedStopsAreRemovedIfAsked(t *testing.T) {
	for asked, want := range map[bool]string{
		true:  `round 1.2  save a 1.1 x1 holds running  stop a 10s  remove a  down a code=143 ordered=true`,
		false: `round 1.2  save a 1.1 x1 holds running  stop a 10s  down a code=143 ordered=true`,
	} {
		s := newState(Fresh())
		s.config.RemoveStopped = asked
		play(s, false, inRound()...)
		compare(t, play(s, false, cast("A/0 1.2 Restarting #6"), look("a@10=143")), want)
	}
	s := newState(Fresh())
	s.config.RemoveStopped = true
	play(s, false, inRound()...)
	compare(t, play(s, false, look("a@10=1")), `round 1.2 down a code=1 ordered=false`) // stays, to be looked at
}

// TestWhatIsNotOursIsCounted: a mate that broadcasts nonsense fills nobody's log.
func TestWhatIsNotOursIsCounted(t *testing.T) {
	s := newState(Fresh())
	told := 0
	for n := range 1000 {
		err := &coordination.ForeignValueError{Key: "c", Field: coordination.FieldMessage, Value: fmt.Sprint(n)}
		for _, line := range play(s, true, lost(err)) {
			if strings.HasPrefix(line, "log ") {
				told++
			}
		}
	}
	if told != 4 { // the first one, and 10, 100, 1000
		t.Errorf("told %d times, want 4", told)
	}
}
