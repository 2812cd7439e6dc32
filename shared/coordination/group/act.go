package group

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Apply makes a write. It reports false if the group has moved on: read it again.
func Apply(ctx context.Context, store rounds.Leader, uid string, w Write) (bool, error) {
	return store.Set(ctx, uid, w.Seq, w.State, w.Config, w.Finished, w.Line())
}

// Line of the history: that of a generation that begins, and of a restart that is given up. Of a later round there is one already, unless the store has
// lost it.
func (w Write) Line() *rounds.Line {
	switch {
	case w.Reason == Regenerates, w.Reason == Opens && w.State.Round == 0 && w.State.Entered == 0:
		return opening(w.State, "")
	case w.Reason == Opens:
		return opening(w.State, coordination.KindRecovery)
	case w.Reason == GivesUp:
		return &rounds.Line{Generation: w.State.Generation, Round: w.State.Round + 1, Ends: true, Slot: "-", Cause: coordination.KindTimeout}
	}
	return nil
}

// Incarnation is a random name for the data of a group.
func Incarnation() string { return rand.Text() }

// Read returns a group; coordination.ErrNoGroup: the store holds none.
func Read(ctx context.Context, store rounds.Leader, uid string) (Summary, error) {
	stored, err := store.Read(ctx, uid)
	switch {
	case err != nil:
		return Summary{}, err
	case stored == nil:
		return Summary{}, coordination.ErrNoGroup
	}
	return Summarize(stored), nil
}

// Drop removes a group. coordination.ErrStaleLeader: a newer leader has written it.
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

// maxWrites bounds how many writes one Open makes; a group needs three at most, if its members do not interfere.
const maxWrites = 20

// Open makes a group what its owner wants.
func Open(ctx context.Context, store rounds.Leader, uid string, want Wanted) (Summary, error) {
	for range maxWrites {
		stored, err := store.Read(ctx, uid)
		if err != nil {
			return Summary{}, err
		}
		write, needed, err := Next(stored, want, Incarnation())
		if err != nil {
			return Summary{}, err
		}
		if !needed {
			return Summarize(stored), nil
		}
		if _, err := Apply(ctx, store, uid, write); err != nil {
			return Summary{}, err
		}
	}
	return Summary{}, fmt.Errorf("group %s does not settle after %d writes", uid, maxWrites)
}

// MissingOf are the slots of a unit that have not joined the round.
func (g Summary) MissingOf(ctx context.Context, store rounds.Leader, uid string, unit int) ([]string, error) {
	u := g.Units[unit]
	if u.Left || u.Joined >= u.Slots {
		return nil, nil
	}
	return store.Missing(ctx, uid, g.Level, unit, u.SlotNames())
}

// IsFenced reports whether a pod was released from its slot: whatever it reports is refused.
func (g Summary) IsFenced(pod string) bool { return slices.Contains(g.Fenced, pod) }
