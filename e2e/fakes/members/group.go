package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/relay/tcp"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

const prefix = "member-w"

// Options specify the size and kind of the group.
type Options struct {
	Members int
	Share   int           // members per connection for calls; 1: each has its own, as agents do
	Barrier bool          // the members are supervisors, whose workers wait for each other; otherwise sidecars
	Timeout time.Duration // of a dial and an answer; 0: longer than any round of a benchmark

	// For members with relays, which have connections of their own, and for a part of a group:
	Relays relay.Plan // no relays if zero
	First  int        // index of the first member in this process
	Total  int        // of the whole group; 0: all are in this process
}

func (o Options) total() int { return cmp.Or(o.Total, o.Members) }

// Connections returns how many connections the store must accept.
func (o Options) Connections() int { return o.Members + o.stores() }

func (o Options) stores() int { return (o.Members + o.Share - 1) / o.Share }

// Group is one running group. Its methods must not be called concurrently.
type Group struct {
	id      string
	first   int // index of the first member in this process
	members []*member
	leader  *valkey.Store // nil if it is another process
	stores  []io.Closer
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	round   atomic.Int64    // the round whose times members record; stored after started
	started *sync.WaitGroup // counts the members that do not know yet that the round is running
}

// Start opens the group. Once every member knows that the group is running, it returns how long this took.
func Start(ctx context.Context, server valkey.Options, o Options) (*Group, time.Duration, error) {
	leader, err := Open(ctx, server, o)
	if err != nil {
		return nil, 0, err
	}
	g, err := Join(ctx, server, o)
	if err != nil {
		return nil, 0, errors.Join(err, leader.Close())
	}
	g.leader = leader
	began := time.Now()
	g.Run(0, o.Members)
	if err := g.Await(ctx); err != nil {
		g.Stop()
		return nil, 0, fmt.Errorf("forming a group of %d: %w", o.Members, err)
	}
	return g, time.Since(began), nil
}

const id = "6f1c63a2-5b0e-4a55-9d2b-0c9a4f2f7b11"

// Open opens the group, and returns its leader's store.
func Open(ctx context.Context, server valkey.Options, o Options) (*valkey.Store, error) {
	leader, err := valkey.New(server)
	if err != nil {
		return nil, err
	}
	_, err = grouptest.Open(ctx, leader, id, group.Wanted{
		Token: coordination.Token{LeaseCreated: 1, Transitions: 1}, Generation: 1, Limit: math.MaxInt32, Barrier: o.Barrier,
		Stages: []coordination.Stage{{Prefix: prefix, Jobs: 1, Pods: int64(o.total())}},
	})
	if err != nil {
		return nil, errors.Join(err, leader.Close())
	}
	return leader, nil
}

// Join creates the members of this process. They do nothing until Run.
func Join(ctx context.Context, server valkey.Options, o Options) (*Group, error) {
	ctx, stop := context.WithCancel(ctx)
	g := &Group{id: id, ctx: ctx, stop: stop, first: o.First}
	client := server
	client.Timeout = cmp.Or(o.Timeout, patience)
	for i := range o.Members {
		store, err := g.store(i, client, server.Address, o)
		if err != nil {
			g.Stop()
			return nil, err
		}
		g.members = append(g.members, g.newMember(o.First+i, store, o.Barrier))
	}
	g.Expect(0)
	return g, nil
}

// store returns a member's connection.
func (g *Group) store(i int, client valkey.Options, address string, o Options) (rounds.Members, error) {
	if o.Relays.From > 0 {
		s, err := tcp.New(tcp.Options{
			Plan: o.Relays, Address: address, Log: slog.New(slog.DiscardHandler),
			Open: func() (tcp.Store, error) { return valkey.New(client) },
		})
		g.stores = append(g.stores, s)
		return s, err
	}
	if i%o.Share != 0 {
		return g.members[i-1].store, nil
	}
	s, err := valkey.New(client)
	g.stores = append(g.stores, s)
	return s, err
}

// AwaitRelays returns once all relays of a group have announced themselves.
func AwaitRelays(ctx context.Context, leader *valkey.Store, o Options) error {
	for i := 0; i < o.total(); i += int(o.Relays.Per) {
		for text := ""; text == ""; time.Sleep(time.Millisecond) {
			var err error
			if text, err = leader.Announced(ctx, id, slotOf(i).Name); err != nil {
				return fmt.Errorf("waiting for relays: %w", err)
			}
		}
	}
	return nil
}

// Run runs the members of this process whose indexes are in [from, to).
func (g *Group) Run(from, to int) {
	for _, m := range g.members[from:to] {
		g.running.Go(func() { m.run(g.ctx) })
	}
}

// Stop ends all members.
func (g *Group) Stop() {
	g.stop()
	g.running.Wait()
	for _, s := range g.stores {
		_ = s.Close()
	}
	if g.leader != nil {
		_ = g.leader.Close()
	}
}

// patience is how long a round may take before the benchmark gives up.
const patience = time.Minute

var errLate = errors.New("not every member knows that the round is running")

// Restart kills one member's worker. It returns once every member knows that the next round is running.
func (g *Group) Restart(ctx context.Context) (Round, error) {
	victim := g.members[int(g.round.Load())%len(g.members)]
	g.Expect(g.round.Load() + 1)
	died := time.Now()
	victim.kills <- 1
	if err := g.Await(ctx); err != nil {
		return Round{}, err
	}
	return Account(died, g.Times()), nil
}

// Kill kills a worker whose member is in this process.
func (g *Group) Kill(index int) { g.members[index-g.first].kills <- 1 }

// Reads returns how many members of this process have read the level since the given time.
func (g *Group) Reads(since time.Time) (n int) {
	for _, m := range g.members {
		m.mu.Lock()
		if m.reads.After(since) {
			n++
		}
		m.mu.Unlock()
	}
	return n
}

// Switches returns how often the members of this process have switched between a relay and the store.
func (g *Group) Switches() (n int) {
	for _, m := range g.members {
		m.mu.Lock()
		n += m.switches
		m.mu.Unlock()
	}
	return n
}

// Times returns the times of the members of this process.
func (g *Group) Times() []Times {
	var all []Times
	for _, m := range g.members {
		m.mu.Lock()
		all = append(all, m.times)
		m.mu.Unlock()
	}
	return all
}

// Account returns the times of a round, measured from the worker's death.
func Account(died time.Time, all []Times) Round {
	return Round{
		Order: spread(died, all, func(t Times) time.Time { return t.Ordered }),
		Join:  spread(died, all, func(t Times) time.Time { return t.Joined }),
		Start: spread(died, all, func(t Times) time.Time { return t.Started }),
	}
}

// Expect makes the members record their times in the given round.
func (g *Group) Expect(round int64) {
	g.started = &sync.WaitGroup{}
	g.started.Add(len(g.members))
	g.round.Store(round)
}

// Await returns once every member of this process knows that the expected round is running.
func (g *Group) Await(ctx context.Context) error {
	all := make(chan struct{})
	go func() { g.started.Wait(); close(all) }()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience):
		return g.late()
	}
}

// late returns errLate with the progress of the members.
func (g *Group) late() error {
	var joined, started int
	missing := ""
	for i, t := range g.Times() {
		if !t.Joined.IsZero() {
			joined++
		}
		if !t.Started.IsZero() {
			started++
		}
		if !t.complete() && missing == "" {
			missing = g.members[i].slot.Name
		}
	}
	return fmt.Errorf("%w: of %d members, %d have joined and %d know, %s is missing; members switched %d times between a relay and the store",
		errLate, len(g.members), joined, started, missing, g.Switches())
}
