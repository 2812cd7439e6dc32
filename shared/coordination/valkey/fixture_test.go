package valkey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const uid = "uid-1"

var token = coordination.Token{LeaseCreated: 1, Transitions: 1}

// aState and aConfig return the state and the configuration of a group without joins: one unit with the slots js-w-0-0, js-w-0-1
// and so on.
func aState() rounds.State {
	return rounds.Fresh(rounds.Level{Incarnation: "A", Generation: 1, Phase: rounds.Active, Left: rounds.NoUnits}, 1)
}

func aConfig(slots int64) rounds.Config {
	return rounds.Config{
		Token: token, Incarnation: "A", Generation: 1, Limit: rounds.MaxCount, Units: []rounds.Unit{{Slots: slots, End: 1}},
		Stages: []rounds.Bounds{{Stage: coordination.Stage{Prefix: "js-w", Jobs: 1, Pods: slots}}},
	}
}

// mustOpen writes a group of two slots.
func mustOpen(t testing.TB, leader *Store, groups ...string) {
	t.Helper()
	if len(groups) == 0 {
		groups = []string{uid}
	}
	for _, group := range groups {
		mustWrite(t, leader, group, aState(), aConfig(2))
	}
}

// mustWrite writes a group, replacing any stored one.
func mustWrite(t testing.TB, leader *Store, group string, s rounds.State, c rounds.Config) {
	t.Helper()
	written, err := leader.Set(context.Background(), group, stateOf(t, leader, group), s, c, nil, nil)
	if err != nil || !written {
		t.Fatalf("writing the group: %t, %v", written, err)
	}
}

// stateOf returns the stored form of a group's state. If the group is unreadable, stateOf drops it.
func stateOf(t testing.TB, leader *Store, group string) string {
	t.Helper()
	stored, err := leader.Read(context.Background(), group)
	switch {
	case errors.Is(err, coordination.ErrForeignValue):
		err = leader.Drop(context.Background(), group)
	case stored != nil:
		return stored.Text
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

func slotOf(n int) rounds.Slot {
	return rounds.Slot{Name: fmt.Sprintf("js-w-0-%d", n), Pod: fmt.Sprint("pod-", n)}
}

// memberOf returns the first instance of a slot. Its pod has run before.
func memberOf(n int) rounds.Member {
	return rounds.Member{Slot: slotOf(n), ID: fmt.Sprint("i-", n), Attempt: 1, Past: rounds.Past{Kind: rounds.PastRan}}
}

// aJoin and aDeath return the join and the death of slot n in round 0.
func aJoin(n int) rounds.Call { return rounds.Join("A", 0, 0, 0, memberOf(n)) }

func aDeath(n int) rounds.Call {
	return rounds.Down("A", 0, rounds.Death{Slot: slotOf(n), ID: memberOf(n).ID, Ran: true, Cause: "exit 1"})
}

// mustCall makes a call in the group uid and returns the level after the call.
func mustCall(t testing.TB, s *Store, c rounds.Call) rounds.Level {
	t.Helper()
	_, now, err := s.Call(context.Background(), uid, c)
	if err != nil {
		t.Fatalf("%s: %v", c.Function, err)
	}
	return now
}

// mustJoin makes both slots join, so that the group is running.
func mustJoin(t testing.TB, s *Store) {
	t.Helper()
	mustCall(t, s, aJoin(0))
	if now := mustCall(t, s, aJoin(1)); !now.Running() {
		t.Fatalf("both have joined: %s", now)
	}
}

// patience limits every wait for an observation.
const patience = 30 * time.Second

// watching is a running Watch and what it has observed.
type watching struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	all     []rounds.Observation
	changed chan struct{}
}

// watchGroup starts a Watch, which ends with the test.
func watchGroup(t *testing.T, s *Store, group string) *watching {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watching{cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}, 1)}
	go func() {
		defer close(w.done)
		s.Watch(ctx, group, slotOf(0), w.note)
	}()
	t.Cleanup(w.stop)
	return w
}

func (w *watching) stop() {
	w.cancel()
	<-w.done
}

func (w *watching) note(o rounds.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, o)
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *watching) observed() []rounds.Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]rounds.Observation(nil), w.all...)
}

// await waits until the observations satisfy a condition.
func (w *watching) await(t *testing.T, what string, enough func([]rounds.Observation) bool) []rounds.Observation {
	t.Helper()
	timeout := time.After(patience)
	for !enough(w.observed()) {
		select {
		case <-w.changed:
		case <-timeout:
			t.Fatalf("%s was not observed; observed: %+v", what, w.observed())
		}
	}
	return w.observed()
}

func (w *watching) awaitCount(t *testing.T, n int) []rounds.Observation {
	t.Helper()
	return w.await(t, fmt.Sprint(n, " observations"), func(all []rounds.Observation) bool { return len(all) >= n })
}

// isLoss reports whether an observation means that the store is unreachable.
func isLoss(o rounds.Observation) bool {
	return o.Err != nil && !o.Read && !errors.Is(o.Err, coordination.ErrForeignValue)
}
