package group

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Line returns the line that the write adds to the history, or nil. New generations and abandoned restarts get a line. So does a
// group that is restored because the store has lost it, since the history was lost too.
func (w Write) Line() *rounds.Line {
	l := rounds.Line{Generation: w.State.Generation, Round: w.State.Round, Slot: "-"}
	switch {
	case w.Reason == Regenerates, w.Reason == Opens && w.State.Round == 0 && w.State.Entered == 0:
	case w.Reason == Opens:
		l.Cause = coordination.KindRecovery
	case w.Reason == GivesUp:
		l.Round, l.Ends, l.Cause = w.State.Round+1, true, coordination.KindTimeout
	default:
		return nil
	}
	return &l
}

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
