package members

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

const prefix = "member-w"

// Options say the size and kind of the group.
type Options struct {
	Members int
	Share   int  // members per connection for calls; 1: each has its own, as agents do
	Barrier bool // the members are supervisors, whose workers wait for each other; otherwise sidecars
}

// Connections returns how many connections the store must accept.
func (o Options) Connections() int { return o.Members + o.stores() }

func (o Options) stores() int { return (o.Members + o.Share - 1) / o.Share }

// Group is one running group. Its methods must not be called concurrently.
type Group struct {
	id      string
	members []*member
	leader  *valkey.Store
	stores  []*valkey.Store
	stop    context.CancelFunc
	running sync.WaitGroup

	round   atomic.Int64    // the round whose times members record; stored after started
	started *sync.WaitGroup // counts the members that do not know yet that the round runs
}

// Start opens the group. It returns once every member knows that the group runs, with the time that this took.
func Start(ctx context.Context, server valkey.Options, o Options) (*Group, time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	g := &Group{id: "6f1c63a2-5b0e-4a55-9d2b-0c9a4f2f7b11", stop: stop}
	if err := g.open(ctx, server, o); err != nil {
		g.Stop()
		return nil, 0, err
	}
	for i := range o.Members {
		g.members = append(g.members, g.newMember(i, g.stores[i/o.Share], o.Barrier))
	}
	g.expect(0)
	began := time.Now()
	for _, m := range g.members {
		g.running.Go(func() { m.run(ctx) })
	}
	if err := g.await(ctx); err != nil {
		g.Stop()
		return nil, 0, fmt.Errorf("forming a group of %d: %w", o.Members, err)
	}
	return g, time.Since(began), nil
}

func (g *Group) open(ctx context.Context, server valkey.Options, o Options) (err error) {
	for range o.stores() {
		client := server
		client.Timeout = patience
		s, err := valkey.New(client)
		if err != nil {
			return err
		}
		g.stores = append(g.stores, s)
	}
	if g.leader, err = valkey.New(server); err != nil {
		return err
	}
	_, err = group.Open(ctx, g.leader, g.id, group.Wanted{
		Token: coordination.Token{LeaseCreated: 1, Transitions: 1}, Generation: 1, Limit: math.MaxInt32, Barrier: o.Barrier,
		Stages: []coordination.Stage{{Prefix: prefix, Jobs: 1, Pods: int64(o.Members)}},
	})
	return err
}

// Stop ends all members.
func (g *Group) Stop() {
	g.stop()
	g.running.Wait()
	for _, s := range append(g.stores, g.leader) {
		if s != nil {
			_ = s.Close()
		}
	}
}

// patience is how long a round may take before the benchmark gives up.
const patience = time.Minute

var errLate = errors.New("not every member knows that the round runs")

// Restart kills one member's worker. It returns once every member knows that the next round runs.
func (g *Group) Restart(ctx context.Context) (Round, error) {
	victim := g.members[int(g.round.Load())%len(g.members)]
	g.expect(g.round.Load() + 1)
	died := time.Now()
	victim.kills <- 1
	if err := g.await(ctx); err != nil {
		return Round{}, err
	}
	return g.account(died), nil
}

func (g *Group) account(died time.Time) Round {
	var all []times
	for _, m := range g.members {
		m.mu.Lock()
		all = append(all, m.times)
		m.mu.Unlock()
	}
	return Round{
		Order: spread(died, all, func(t times) time.Time { return t.ordered }),
		Join:  spread(died, all, func(t times) time.Time { return t.joined }),
		Start: spread(died, all, func(t times) time.Time { return t.started }),
	}
}

// expect makes the members record the times of a round.
func (g *Group) expect(round int64) {
	g.started = &sync.WaitGroup{}
	g.started.Add(len(g.members))
	g.round.Store(round)
}

func (g *Group) await(ctx context.Context) error {
	all := make(chan struct{})
	go func() { g.started.Wait(); close(all) }()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience):
		return errLate
	}
}
