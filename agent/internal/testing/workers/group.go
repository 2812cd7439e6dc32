package workers

import (
	"context"
	"sync"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
)

// KeepGroup opens a group and keeps it in the desired state until stop is called or the test ends.
func KeepGroup(t testing.TB, store rounds.Leader, uid string, want group.Wanted) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := grouptest.Open(ctx, store, uid, want); err != nil {
		cancel()
		t.Fatal(err)
	}
	var leading sync.WaitGroup
	leading.Go(func() {
		store.WatchAll(ctx, func(string) { _, _ = grouptest.Open(ctx, store, uid, want) }) // also called when the store is reachable again
	})
	stop = func() { cancel(); leading.Wait() }
	t.Cleanup(stop)
	return stop
}
