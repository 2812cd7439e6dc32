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
	workers []*worker
	leader  *valkey.Store
	stores  []*valkey.Store
	stop    context.CancelFunc
	running sync.WaitGroup

	round   atomic.Int64    // the round that members note the times of; stored after lifted
	lifted  *sync.WaitGroup // the members that do not know yet that it runs
	skipped atomic.Int64    // virtual time, so that the guard against too many orders does not see a bench as an attack
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
		f.workers = append(f.workers, f.newWorker(i, f.stores[i/o.Share], o.Barrier))
	}
	f.expect(0)
	began := time.Now()
	for _, w := range f.workers {
		f.running.Go(func() { w.run(ctx) })
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
	_, err = f.leader.Open(ctx, f.group, coordination.Open{
		Token: coordination.Token{LeaseCreated: 1, Transitions: 1}, Incarnation: "fleet", Epoch: 1, Limit: math.MaxInt32,
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

// Quiet lets the members tell what they do not tell at once: since when their workers run.
func (f *Fleet) Quiet(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(noticeTime):
	}
}

// noticeTime is longer than a member waits with that.
const noticeTime = 1500 * time.Millisecond

// Restart lets one member's worker die and returns when every member knows that the next round runs.
func (f *Fleet) Restart(ctx context.Context) (Round, error) {
	f.skipped.Add(int64(time.Minute))
	victim := f.workers[int(f.round.Load())%len(f.workers)]
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
	for _, w := range f.workers {
		w.mu.Lock()
		all = append(all, w.times)
		w.mu.Unlock()
	}
	return Round{
		Order: spread(died, all, func(t times) time.Time { return t.ordered }),
		Join:  spread(died, all, func(t times) time.Time { return t.joined }),
		Lift:  spread(died, all, func(t times) time.Time { return t.lifted }),
	}
}

// expect makes the members note the times of a round.
func (f *Fleet) expect(round int64) {
	f.lifted = &sync.WaitGroup{}
	f.lifted.Add(len(f.workers))
	f.round.Store(round)
}

func (f *Fleet) await(ctx context.Context) error {
	all := make(chan struct{})
	go func() { f.lifted.Wait(); close(all) }()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience):
		return errLate
	}
}

func (f *Fleet) clock() time.Time { return time.Now().Add(time.Duration(f.skipped.Load())) }
