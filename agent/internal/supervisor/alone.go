package supervisor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/loop"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// aloneEvery is the maximum interval between checks of the store's reachability.
const aloneEvery = time.Second

// contact records when the store was last reached.
type contact struct {
	rounds.Members
	last atomic.Int64 // Unix nanoseconds
}

// note records contact if the store replied, even if the reply was an error.
func (c *contact) note(err error) {
	if loop.IsReply(err) {
		c.last.Store(time.Now().UnixNano())
	}
}

func (c *contact) Call(ctx context.Context, group string, call rounds.Call) (string, rounds.Level, error) {
	reply, now, err := c.Members.Call(ctx, group, call)
	c.note(err)
	return reply, now, err
}

func (c *contact) Place(ctx context.Context, group string, own rounds.Slot) (rounds.Place, error) {
	p, err := c.Members.Place(ctx, group, own)
	c.note(err)
	return p, err
}

func (c *contact) Level(ctx context.Context, group string) (rounds.Level, error) {
	l, err := c.Members.Level(ctx, group)
	c.note(err)
	return l, err
}

func (c *contact) Watch(ctx context.Context, group string, on func(rounds.Observation)) {
	c.Members.Watch(ctx, group, func(o rounds.Observation) {
		c.note(o.Err)
		on(o)
	})
}

// awaitAlone returns an error once the worker has not been running, and the store has been unreachable, for at least
// the limit. It assumes that the group no longer has a leader, so that the pod's owner must handle the exit of the
// container. It returns nil when ctx is done.
func (r *run) awaitAlone(ctx context.Context, c *contact, limit time.Duration) error {
	tick := time.NewTicker(min(aloneEvery, limit/4))
	defer tick.Stop()
	for ran := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if r.supervisor.running() {
			ran = time.Now()
		}
		if time.Since(ran) >= limit && time.Since(time.Unix(0, c.last.Load())) >= limit {
			return fmt.Errorf("the worker is waiting, and the store has been unreachable for %s: exiting", limit)
		}
	}
}

// finished reports whether the newest instance of the worker has exited with code 0.
func (s *Supervisor) finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.newest()
	return i != nil && i.dead && i.exit.Code == 0
}

func (s *Supervisor) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.newest()
	return i != nil && !i.dead && !i.startedAt.IsZero()
}
