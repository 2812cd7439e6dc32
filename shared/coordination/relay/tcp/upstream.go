package tcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Store is the store interface that relays need.
type Store interface {
	rounds.Members
	// JoinAll makes a call with the joins of several members, and returns a reply for each. now is the level right after the
	// call.
	JoinAll(ctx context.Context, group string, c rounds.Call, members int) (replies []string, now rounds.Level, err error)
	// ObserveAll observes the group for several pods.
	ObserveAll(ctx context.Context, group string, own []rounds.Slot) []rounds.Observation
	// Announce writes what members need to know about the relay in a slot, with a limited lifetime. Announced returns that text,
	// or "" if there is none.
	Announce(ctx context.Context, group, slot, text string, life time.Duration) error
	Announced(ctx context.Context, group, slot string) (string, error)
	// Hosts returns the host names of the workers in the given slots, by slot. It omits slots that are not assigned to a pod.
	Hosts(ctx context.Context, group string, slots []string) (map[string]string, error)
	Close() error
}

// callTimeout is the timeout for the agent's calls.
const callTimeout = 3 * time.Second

// maxWaiting limits the number of waiting requests. Each member makes at most a few at a time.
const maxWaiting = 8 * maxMembers

var errBusy = errors.New("too many waiting requests")

// gather is how long a relay waits for more reads after the first one.
const gather = 2 * time.Millisecond

// upstream makes a relay's store calls, one at a time. While a call is in progress, requests are collected for the next one.
type upstream struct {
	store Store
	group string
	wake  chan struct{} // buffer of one

	mu        sync.Mutex
	members   int // number of members that use the relay, including the relay itself
	joins     relay.Batch[joining]
	hold      relay.Hold
	observers []observer
	due       time.Time // when their reads are due; zero if there are none
}

// joining is a member that is waiting for the answer to its join.
type joining struct {
	call   rounds.Call
	answer func(message)
}

// observer is a member that is waiting for the level and its place.
type observer struct {
	own    rounds.Slot
	answer func(message)
}

// served adds change to the number of members that use the relay.
func (u *upstream) served(change int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.members += change
}

// request accepts a member's request. answer is called with the fields of the answer that follow the number.
func (u *upstream) request(m message, answer func(message)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.joins.Waiting()+len(u.observers) >= maxWaiting {
		answer(message{errorText(errBusy)})
		return
	}
	switch m.kind() {
	case kindJoin:
		c := joinOf(m)
		if !relay.Joins(c) {
			answer(message{"argument"})
			return
		}
		u.joins.Add(joining{call: c, answer: answer}, c, false)
		u.hold.Joined(time.Now(), c)
	case kindObserve:
		u.observers = append(u.observers, observer{rounds.Slot{Name: m.field(2), Pod: m.field(3)}, answer})
		if u.due.IsZero() {
			u.due = time.Now().Add(gather)
		}
	}
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// run makes calls until ctx is done.
func (u *upstream) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		call, who, observers, wait := u.take(time.Now())
		if len(who) > 0 {
			u.join(ctx, call, who)
		}
		if len(observers) > 0 {
			u.observe(ctx, observers)
		}
		if len(who)+len(observers) > 0 {
			continue // more may be due by now
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-u.wake:
		case <-timer.C:
		}
	}
}

// idle is how long to wait if there are no requests. Each request wakes run.
const idle = time.Hour

// take removes and returns the requests that are due. If none is due, wait is the time until the next one is.
func (u *upstream) take(now time.Time) (call rounds.Call, joins []joining, observers []observer, wait time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	wait = idle
	due := func(t time.Time) bool {
		if !t.IsZero() {
			wait = min(wait, t.Sub(now))
		}
		return !t.IsZero() && !t.After(now)
	}
	if due(u.hold.Due(now, u.members)) {
		call, joins, _ = u.joins.Next()
		u.hold.Sent(now, u.joins.Waiting() > 0)
	}
	if due(u.due) {
		observers = u.observers
		u.observers, u.due = nil, time.Time{}
	}
	return call, joins, observers, wait
}

// join sends the joins of several members in one call. If an invalid value from one member makes the whole call fail, each join
// is retried separately.
func (u *upstream) join(ctx context.Context, call rounds.Call, who []joining) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	replies, now, err := u.store.JoinAll(ctx, u.group, call, len(who))
	text := errorText(err)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.joins.Done()
	for i, w := range who {
		switch {
		case err == nil:
			w.answer(message{noError, replies[i], now.String()})
		case answerErrors[text] != nil && len(who) > 1:
			u.joins.Add(w, w.call, true)
			u.hold.Release(time.Now())
		default:
			w.answer(message{text})
		}
	}
}

func (u *upstream) observe(ctx context.Context, who []observer) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	own := make([]rounds.Slot, len(who))
	for i, w := range who {
		own[i] = w.own
	}
	for i, o := range u.store.ObserveAll(ctx, u.group, own) {
		place, _ := json.Marshal(o.Place) // numbers, strings and booleans always marshal
		who[i].answer(message{errorText(o.Err), o.Level.String(), string(place)})
	}
}
