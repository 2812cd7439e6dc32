package group

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Incarnation returns a new random name for a group's data.
func Incarnation() string { return rand.Text() }

// Drop removes a group. It returns coordination.ErrStaleLeader if a newer leader has written to it.
func Drop(ctx context.Context, store rounds.Leader, uid string, t coordination.Token) error {
	stored, err := store.Read(ctx, uid)
	switch {
	case err != nil && !errors.Is(err, coordination.ErrForeignValue):
		return err
	case stored != nil && t.Less(stored.Config.Token):
		return coordination.ErrStaleLeader
	}
	return store.Drop(ctx, uid)
}
