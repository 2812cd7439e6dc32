package members

import (
	"context"
	"sync"

	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Lead does what the orchestrator does with the store during restarts, until ctx is done: it reads the group after each change. Changes that
// happen during a read count as one change.
func Lead(ctx context.Context, leader *valkey.Store) {
	changed := make(chan struct{}, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				_, _ = leader.Read(ctx, id) // the next change triggers another read
			}
		}
	})
	leader.WatchAll(ctx, func(string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	reading.Wait()
}
