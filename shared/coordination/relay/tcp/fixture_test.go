package tcp

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

const group = "uid"

// backend is a store in memory, with the state that the members' connections share.
type backend struct {
	*memory.Store
	mu      sync.Mutex
	records map[string]string
	batches []int  // number of members in each call with joins
	broken  string // slot whose join makes a call for several members fail
}

// connection is the store connection of a member or a relay.
type connection struct {
	*backend
	watches, calls atomic.Int64
	open           atomic.Bool
}

func (c *connection) Watch(ctx context.Context, group string, own rounds.Slot, on func(rounds.Observation)) {
	c.watches.Add(1)
	defer c.watches.Add(-1)
	c.backend.Watch(ctx, group, own, on)
}

func (c *connection) Call(ctx context.Context, group string, call rounds.Call) (string, rounds.Level, error) {
	c.calls.Add(1)
	return c.backend.Call(ctx, group, call)
}

func (c *connection) JoinAll(ctx context.Context, group string, call rounds.Call, members int) (replies []string, now rounds.Level, err error) {
	c.mu.Lock()
	c.batches = append(c.batches, members)
	c.mu.Unlock()
	for i := range members {
		one := rounds.Call{Function: call.Function, Arguments: append(append([]any{}, call.Arguments[:4]...), call.Arguments[4+6*i:10+6*i]...)}
		if members > 1 && one.Arguments[4] == c.broken {
			return nil, now, coordination.ErrForeignValue
		}
		reply, after, err := c.backend.Call(ctx, group, one)
		if err != nil {
			return nil, now, err
		}
		replies, now = append(replies, reply), after
	}
	return replies, now, nil
}

func (c *connection) ObserveAll(ctx context.Context, group string, own []rounds.Slot) (all []rounds.Observation) {
	for _, slot := range own {
		all = append(all, c.Observe(ctx, group, slot))
	}
	return all
}

func (c *connection) Hosts(context.Context, string, []string) (map[string]string, error) {
	return map[string]string{}, nil
}

func (c *connection) Announce(_ context.Context, _, slot, text string, _ time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records[slot] = text
	return nil
}

func (c *connection) Announced(_ context.Context, _, slot string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.records[slot], nil
}

func (c *connection) Close() error {
	c.open.Store(false)
	return nil
}

// newBackend returns a store with a group that has the given number of slots.
func newBackend(t *testing.T, slots int64) *backend {
	t.Helper()
	b := &backend{Store: memory.New(time.Now), records: map[string]string{}}
	state := rounds.Fresh(rounds.Level{Incarnation: "A", Generation: 1, Phase: rounds.Active, Left: rounds.NoUnits}, 1)
	config := rounds.Config{
		Token: coordination.Token{LeaseCreated: 1, Transitions: 1}, Incarnation: "A", Generation: 1, Limit: rounds.MaxCount,
		Units:  []rounds.Unit{{Slots: slots, End: 1}},
		Stages: []rounds.Bounds{{Stage: coordination.Stage{Prefix: "js-w", Jobs: 1, Pods: slots}}},
	}
	if written, err := b.Set(t.Context(), group, "", state, config, nil, nil); err != nil || !written {
		t.Fatal(written, err)
	}
	return b
}

// member is a member of a group in which four members share a relay. It records what it has observed.
type member struct {
	*Members
	t    *testing.T
	n    int
	own  rounds.Slot
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	stores []*connection // in the order in which they were opened
	all    []rounds.Observation
}

// member returns a member that watches.
func (b *backend) member(t *testing.T, n int) *member {
	t.Helper()
	m := b.idleMember(t, n)
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go func() {
		defer close(m.done)
		m.Watch(ctx, group, m.own, func(o rounds.Observation) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.all = append(m.all, o)
		})
	}()
	t.Cleanup(m.end)
	return m
}

// idleMember returns a member that does not watch, so that only the test changes its state.
func (b *backend) idleMember(t *testing.T, n int) *member {
	t.Helper()
	m := &member{t: t, n: n, own: rounds.Slot{Name: fmt.Sprint("js-w-0-", n), Pod: fmt.Sprint("pod", n)}, done: make(chan struct{})}
	open := func() (Store, error) {
		c := &connection{backend: b}
		c.open.Store(true)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.stores = append(m.stores, c)
		return c, nil
	}
	var err error
	m.Members, err = New(Options{
		Plan: relay.Plan{From: 2, Per: 4}, Address: "127.0.0.1:6379", Open: open, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *member) end() {
	m.stop()
	<-m.done
	_ = m.Close()
}

// await waits for an observation.
func (m *member) await(what string, is func(rounds.Observation) bool) {
	m.t.Helper()
	eventually(m.t, what, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, o := range m.all {
			if is(o) {
				return true
			}
		}
		return false
	})
}

// awaitRound waits until the member has observed that a round is running.
func (m *member) awaitRound(round int64) {
	m.t.Helper()
	m.await(fmt.Sprintf("member %d observes that round %d is running", m.n, round), func(o rounds.Observation) bool {
		return o.Level.Round == round && o.Level.Running()
	})
}

// watches returns how many of its stores the member is watching.
func (m *member) watches() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.stores {
		n += c.watches.Load()
	}
	return n
}

func (m *member) calls() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.stores {
		n += c.calls.Load()
	}
	return n
}

// join joins a round, and fails the test if the join is not accepted.
func (m *member) join(round int64) {
	m.t.Helper()
	c := rounds.Join("A", 0, round, 0, rounds.Member{Slot: m.own, ID: fmt.Sprintf("i%d-%d", m.n, round), Attempt: round, Past: rounds.Past{Kind: rounds.PastRan}})
	reply, now, err := m.Call(m.t.Context(), group, c)
	if err != nil || reply != string(rounds.AnswerJoined) || now.Round != round {
		m.t.Errorf("member %d joins round %d: %q, %s, %v", m.n, round, reply, now, err)
	}
}

// dies reports that the member's instance has died.
func (m *member) dies(round int64) {
	m.t.Helper()
	d := rounds.Death{Slot: m.own, ID: fmt.Sprintf("i%d-%d", m.n, round), Round: round, Ran: true, Saw: true, Cause: "exit 1"}
	if _, now, err := m.Call(m.t.Context(), group, rounds.Down("A", 0, d)); err != nil || now.Round != round+1 {
		m.t.Errorf("member %d dies in round %d: %s, %v", m.n, round, now, err)
	}
}

// eventually polls until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not observed in time: %s", what)
		}
	}
}
