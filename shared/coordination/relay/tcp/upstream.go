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

// Store is what relays need of a store.
type Store interface {
	rounds.Members
	// JoinAll calls the join of several members, and returns one reply for each. now is the level right after it.
	JoinAll(ctx context.Context, group string, c rounds.Call, members int) (replies []string, now rounds.Level, err error)
	// PlaceAll returns the place of several pods, with an error for each.
	PlaceAll(ctx context.Context, group string, own []rounds.Slot) ([]rounds.Place, []error)
	// Announce writes what members must know about the relay in a slot, for some time. Announced returns it, "" if there is none.
	Announce(ctx context.Context, group, slot, text string, life time.Duration) error
	Announced(ctx context.Context, group, slot string) (string, error)
	// Hosts returns the host names of the workers in the given slots, by slot, without those of slots that were given to no pod.
	Hosts(ctx context.Context, group string, slots []string) (map[string]string, error)
	Close() error
}

// callTimeout is that of the agent's calls.
const callTimeout = 3 * time.Second

// maxWaiting limits the requests that wait. Each member waits for the answer to at most a few.
const maxWaiting = 8 * maxMembers

var errBusy = errors.New("too many requests wait")

// gather is how long a relay waits for more requests after the first one. Members join within some milliseconds of each other.
const gather = 2 * time.Millisecond

// upstream makes a relay's calls of the store, one after the other. While one is in progress, requests gather for the next.
type upstream struct {
	store Store
	group string
	wake  chan struct{} // buffer of one

	mu     sync.Mutex
	joins  relay.Batch[joining]
	levels []func(message)
	places []placing
}

// joining is a member that waits for the answer to its join.
type joining struct {
	call   rounds.Call
	answer func(message)
	solo   bool
}

type placing struct {
	own    rounds.Slot
	answer func(message)
}

func newUpstream(store Store, group string) *upstream {
	return &upstream{store: store, group: group, wake: make(chan struct{}, 1)}
}

// request takes a request of a member. answer gets the fields of the answer that follow the number.
func (u *upstream) request(m message, answer func(message)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.joins.Waiting()+len(u.levels)+len(u.places) >= maxWaiting {
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
	case kindLevel:
		u.levels = append(u.levels, answer)
	case kindPlace:
		u.places = append(u.places, placing{rounds.Slot{Name: m.field(2), Pod: m.field(3)}, answer})
	}
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// run makes calls until ctx is done.
func (u *upstream) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.wake:
		}
		time.Sleep(gather)
		for u.turn(ctx) {
		}
	}
}

// turn makes the calls for what has gathered. It reports whether there was anything.
func (u *upstream) turn(ctx context.Context) bool {
	u.mu.Lock()
	call, who, some := u.joins.Next()
	levels, places := u.levels, u.places
	u.levels, u.places = nil, nil
	u.mu.Unlock()
	if some {
		u.join(ctx, call, who)
	}
	if len(levels) > 0 {
		u.level(ctx, levels)
	}
	if len(places) > 0 {
		u.place(ctx, places)
	}
	return some || len(levels) > 0 || len(places) > 0
}

// join joins several members at once. A broken value of one member fails the whole call, so each of them is then tried alone.
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
			w.solo = true
			u.joins.Add(w, w.call, true)
		default:
			w.answer(message{text})
		}
	}
}

func (u *upstream) level(ctx context.Context, who []func(message)) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	m := message{noError, ""}
	level, err := u.store.Level(ctx, u.group)
	if err != nil {
		m = message{errorText(err)}
	} else {
		m[1] = level.String()
	}
	for _, answer := range who {
		answer(m)
	}
}

func (u *upstream) place(ctx context.Context, who []placing) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	own := make([]rounds.Slot, len(who))
	for i, w := range who {
		own[i] = w.own
	}
	places, errs := u.store.PlaceAll(ctx, u.group, own)
	for i, w := range who {
		text, err := json.Marshal(places[i])
		if err = firstError(errs[i], err); err != nil {
			w.answer(message{errorText(err)})
			continue
		}
		w.answer(message{noError, string(text)})
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
