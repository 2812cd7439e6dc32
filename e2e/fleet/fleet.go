package fleet

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

const prefix = "fleet-w"

// Options say what a fleet looks like.
type Options struct {
	Members int
	Share   int  // members to a connection for calls; 1: each has its own, as agents have
	Barrier bool // the members are supervisors, whose workers wait for each other; else sidecars
}

// Connections is how many the store has to take.
func (o Options) Connections() int { return o.Members + o.stores() }

func (o Options) stores() int { return (o.Members + o.Share - 1) / o.Share }

// Fleet is one running group. Its methods are for one goroutine.
type Fleet struct {
	group   string
	members []*member
	leader  *valkey.Store
	stores  []*valkey.Store
	stop    context.CancelFunc
	running sync.WaitGroup

	round   atomic.Int64    // the round that members note the times of; stored after started
	started *sync.WaitGroup // the members that do not know yet that it runs
}

// Start opens the group and returns when every member knows that it runs, with how long that took.
func Start(ctx context.Context, address string, o Options) (*Fleet, time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	f := &Fleet{group: "6f1c63a2-5b0e-4a55-9d2b-0c9a4f2f7b11", stop: stop}
	if err := f.open(ctx, address, o); err != nil {
		f.Stop()
		return nil, 0, err
	}
	for i := range o.Members {
		f.members = append(f.members, f.newMember(i, f.stores[i/o.Share], o.Barrier))
	}
	f.expect(0)
	began := time.Now()
	for _, m := range f.members {
		f.running.Go(func() { m.run(ctx) })
	}
	if err := f.await(ctx); err != nil {
		f.Stop()
		return nil, 0, fmt.Errorf("forming a group of %d: %w", o.Members, err)
	}
	return f, time.Since(began), nil
}

func (f *Fleet) open(ctx context.Context, address string, o Options) (err error) {
	for range o.stores() {
		s, err := valkey.New(valkey.Options{Address: address, Timeout: patience})
		if err != nil {
			return err
		}
		f.stores = append(f.stores, s)
	}
	if f.leader, err = valkey.New(valkey.Options{Address: address}); err != nil {
		return err
	}
	_, err = group.Open(ctx, f.leader, f.group, group.Wanted{
		Token: coordination.Token{LeaseCreated: 1, Transitions: 1}, Generation: 1, Limit: math.MaxInt32, Barrier: o.Barrier,
		Stages: []coordination.Stage{{Prefix: prefix, Jobs: 1, Pods: int64(o.Members)}},
	})
	return err
}

// Stop ends all members.
func (f *Fleet) Stop() {
	f.stop()
	f.running.Wait()
	for _, s := range append(f.stores, f.leader) {
		if s != nil {
			_ = s.Close()
		}
	}
}

// patience is how long a round may take before the bench gives up.
const patience = time.Minute

var errLate = errors.New("not every member knows that the round runs")

// Restart lets one member's worker die and returns when every member knows that the next round runs.
func (f *Fleet) Restart(ctx context.Context) (Round, error) {
	victim := f.members[int(f.round.Load())%len(f.members)]
	f.expect(f.round.Load() + 1)
	died := time.Now()
	victim.kills <- 1
	if err := f.await(ctx); err != nil {
		return Round{}, err
	}
	return f.account(died), nil
}

func (f *Fleet) account(died time.Time) Round {
	var all []times
	for _, m := range f.members {
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

// expect makes the members note the times of a round.
func (f *Fleet) expect(round int64) {
	f.started = &sync.WaitGroup{}
	f.started.Add(len(f.members))
	f.round.Store(round)
}

func (f *Fleet) await(ctx context.Context) error {
	all := make(chan struct{})
	go func() { f.started.Wait(); close(all) }()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience):
		return errLate
	}
}
