package members

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// Times records when one member reached each step of a round.
type Times struct {
	round                    int64
	Ordered, Joined, Started time.Time
}

// note records times from the events of a member. It notifies the group once the member has joined the round and knows
// that it is running.
func (m *member) note(e worker.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.current()
	complete := t.complete()
	switch e := e.(type) {
	case worker.Answered:
		if isJoin(e) && e.Now.Round == t.round {
			stamp(&t.Joined)
		}
		t.see(e.Now)
	case worker.Updated:
		t.see(e.Level)
		if e.Read && e.Err == nil {
			m.reads = time.Now()
		}
		if errors.Is(e.Err, coordination.ErrSwitched) {
			m.switches++
		}
	}
	if !complete && t.complete() {
		m.group.started.Done()
	}
}

// isJoin reports whether the event is the store's reply to a successful join.
func isJoin(e worker.Answered) bool {
	answer, err := rounds.ParseAnswer(e.Reply)
	return e.Err == nil && err == nil && (answer.Kind == rounds.AnswerJoined || answer.Kind == rounds.AnswerReplaced)
}

func (m *member) noteOrder() {
	m.mu.Lock()
	defer m.mu.Unlock()
	stamp(&m.current().Ordered)
}

// current returns the times of the round that the group waits for.
func (m *member) current() *Times {
	if round := m.group.round.Load(); m.times.round != round {
		m.times = Times{round: round}
	}
	return &m.times
}

func (t *Times) see(l rounds.Level) {
	if l.Running() && l.Round == t.round {
		stamp(&t.Started)
	}
}

func (t *Times) complete() bool { return !t.Joined.IsZero() && !t.Started.IsZero() }

func stamp(t *time.Time) {
	if t.IsZero() {
		*t = time.Now()
	}
}

// Spread describes how a time is distributed over the members.
type Spread struct {
	P50, P99, Last time.Duration
}

// Round is one restart of the group. Times are counted from the failed worker's death.
type Round struct {
	Order Spread // the order reached the member; the worker that failed needs none
	Join  Spread // the store has replied to the join of its next instance
	Start Spread // it knows that all have joined
}

func spread(from time.Time, members []Times, of func(Times) time.Time) Spread {
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

// Median returns a round whose times are the medians of all rounds.
func Median(all []Round) Round {
	pick := func(of func(Round) time.Duration) time.Duration {
		var times []time.Duration
		for _, r := range all {
			times = append(times, of(r))
		}
		slices.Sort(times)
		return times[len(times)/2]
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
		Start: of(func(r Round) Spread { return r.Start }),
	}
}
