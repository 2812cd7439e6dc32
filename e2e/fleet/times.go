package fleet

import (
	"math"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/member"
)

// times is when one member saw what of a round.
type times struct {
	round                   int64
	ordered, joined, lifted time.Time
}

// note takes the times from the events of a member, and tells the fleet once the member has joined the round and knows
// that it runs.
func (w *worker) note(e member.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.current()
	complete := t.complete()
	switch e := e.(type) {
	case member.Answered:
		if e.Err == nil && e.Reply.Round == t.round {
			stamp(&t.joined)
		}
		t.see(e.Reply.Level)
	case member.Told:
		t.see(e.Level)
	}
	if !complete && t.complete() {
		w.fleet.lifted.Done()
	}
}

func (w *worker) noteOrder() {
	w.mu.Lock()
	defer w.mu.Unlock()
	stamp(&w.current().ordered)
}

// current are the times of the round that the fleet looks at.
func (w *worker) current() *times {
	if round := w.fleet.round.Load(); w.times.round != round {
		w.times = times{round: round}
	}
	return &w.times
}

func (t *times) see(l coordination.Level) {
	if l.Phase == coordination.Running && l.Round == t.round {
		stamp(&t.lifted)
	}
}

func (t *times) complete() bool { return !t.joined.IsZero() && !t.lifted.IsZero() }

func stamp(t *time.Time) {
	if t.IsZero() {
		*t = time.Now()
	}
}

// Spread is how a time is spread over the members.
type Spread struct {
	P50, P99, Last time.Duration
}

// Round is one restart of the group, each time counted from the death of the worker that failed.
type Round struct {
	Order Spread // the order reached the member; the worker that failed needs none
	Join  Spread // the store had answered the join of its next instance
	Lift  Spread // it knew that all have joined
}

func spread(from time.Time, members []times, of func(times) time.Time) Spread {
	var all []time.Duration
	for _, t := range members {
		if at := of(t); !at.IsZero() {
			all = append(all, at.Sub(from))
		}
	}
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	at := func(share float64) time.Duration { return all[int(math.Ceil(share*float64(len(all))))-1] }
	return Spread{P50: at(0.5), P99: at(0.99), Last: all[len(all)-1]}
}

// Median is the round whose every figure is the median of the rounds.
func Median(rounds []Round) Round {
	pick := func(of func(Round) time.Duration) time.Duration {
		var all []time.Duration
		for _, r := range rounds {
			all = append(all, of(r))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	of := func(s func(Round) Spread) Spread {
		return Spread{
			P50:  pick(func(r Round) time.Duration { return s(r).P50 }),
			P99:  pick(func(r Round) time.Duration { return s(r).P99 }),
			Last: pick(func(r Round) time.Duration { return s(r).Last }),
		}
	}
	return Round{
		Order: of(func(r Round) Spread { return r.Order }),
		Join:  of(func(r Round) Spread { return r.Join }),
		Lift:  of(func(r Round) Spread { return r.Lift }),
	}
}
