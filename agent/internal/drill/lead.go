package drill

import (
	"context"
	"sync"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Lead opens a group, and keeps it as it is wanted until the test or stop ends that.
func Lead(t testing.TB, store rounds.Leader, uid string, want group.Wanted) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := group.Open(ctx, store, uid, want); err != nil {
		cancel()
		t.Fatal(err)
	}
	var leading sync.WaitGroup
	leading.Go(func() {
		store.WatchAll(ctx, func(string) { _, _ = group.Open(ctx, store, uid, want) }) // a store that is away tells when it is back
	})
	stop = func() { cancel(); leading.Wait() }
	t.Cleanup(stop)
	return stop
}
