package supervisor

import (
	"context"
	"fmt"
	"time"
)

// aloneEvery is the maximum interval between checks of the store's reachability.
const aloneEvery = time.Second

// awaitAlone returns an error once the store has been unreachable, and the worker not running, for at least the limit.
// It assumes that the group no longer has a leader, so the pod's owner must handle the container's exit. It returns nil
// when ctx is done.
func (r *run) awaitAlone(ctx context.Context, limit time.Duration) error {
	tick := time.NewTicker(min(aloneEvery, limit/4))
	defer tick.Stop()
	for ran := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if r.running() {
			ran = time.Now()
		}
		if time.Since(ran) >= limit && r.contact.Age() >= limit {
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
