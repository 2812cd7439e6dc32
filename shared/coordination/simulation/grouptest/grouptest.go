// Package grouptest opens and reads groups where no orchestrator runs: in tests, benchmarks and the local demo.
package grouptest

import (
	"context"
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Read reads a group. It returns coordination.ErrNoGroup if the store has none.
func Read(ctx context.Context, store rounds.Leader, uid string) (group.Summary, error) {
	stored, err := store.Read(ctx, uid)
	switch {
	case err != nil:
		return group.Summary{}, err
	case stored == nil:
		return group.Summary{}, coordination.ErrNoGroup
	}
	return group.Summarize(stored), nil
}

// maxWrites limits the writes of one Open. A group needs at most three, unless its members change it concurrently.
const maxWrites = 20

// Open makes the stored group match what its owner wants.
func Open(ctx context.Context, store rounds.Leader, uid string, want group.Wanted) (group.Summary, error) {
	for range maxWrites {
		stored, err := store.Read(ctx, uid)
		if err != nil {
			return group.Summary{}, err
		}
		write, needed, err := group.Next(stored, want, group.Incarnation())
		if err != nil {
			return group.Summary{}, err
		}
		if !needed {
			return group.Summarize(stored), nil
		}
		if _, err := store.Set(ctx, uid, write.Before, write.State, write.Config, write.Finished, write.Line()); err != nil {
			return group.Summary{}, err
		}
	}
	return group.Summary{}, fmt.Errorf("group %s did not settle after %d writes", uid, maxWrites)
}
