package valkey

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// When the leader writes a new incarnation or a late report arrives, tables of past rounds are left behind. Nothing reads those
// tables.
func TestTidyRemovesTablesOfPastRounds(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store, uid, "uid-2")
	mustJoin(t, store)
	mustCall(t, store, rounds.Finish("A", 0, slotOf(1), memberOf(1).ID, true))
	mustCall(t, store, aDeath(0))
	late := memberOf(0)
	late.ID = "late"
	mustCall(t, store, rounds.Join("A", 0, 0, 0, late)) // round 1 is waiting for joins
	state, config := aState(), aConfig(2)
	state.Incarnation, config.Incarnation, state.Generation, config.Generation, state.Entered = "B", "B", 2, 2, 1
	finished := []rounds.FinishedSlot{{Slot: slotOf(1).Name}}
	if _, err := store.Set(t.Context(), uid, stateOf(t, store, uid), state, config, finished, nil); err != nil {
		t.Fatal(err)
	}
	mustCall(t, store, rounds.Join("B", 0, 0, 1, memberOf(0)))
	k := rounds.KeysOf(uid)
	over := []string{k.Holders(1), k.Joined(aState().Level, 0)}
	current := []string{k.Holders(2), k.Joined(state.Level, 0), k.Finished(state.Level, 0)}
	before := server.dump()
	for _, key := range slices.Concat(over, current) {
		if before[key] == "" {
			t.Fatalf("%s is not stored: %v", key, slices.Sorted(maps.Keys(before)))
		}
	}
	usage, err := store.Tidy(t.Context())
	if err != nil || usage[uid] == 0 || usage["uid-2"] == 0 || len(usage) != 2 {
		t.Errorf("usage %v, %v", usage, err)
	}
	for _, key := range over {
		delete(before, key)
	}
	if diff := cmp.Diff(before, server.dump()); diff != "" {
		t.Errorf("tables that are not over were removed: %s", diff)
	}
}

// Data that cannot be attributed to a past round is kept: groups with a state that is lost, foreign or of another type, and keys
// that do not belong to a group.
func TestTidyKeepsUnreadableData(t *testing.T) {
	k := rounds.KeysOf(uid)
	for name, damage := range map[string][]any{
		"no state":                {"DEL", k.State()},
		"a foreign state":         {"SET", k.State(), "nonsense"},
		"a state of another type": {"HSET", k.State(), "a", "b"},
		"an unrelated value":      {"SET", "hf2:other", "x"},
		"a table without a name":  {"HSET", strings.TrimSuffix(k.State(), "s") + "j", "a", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t)
			store := server.store(t)
			mustOpen(t, store)
			mustJoin(t, store)
			if name == "a state of another type" {
				server.do("DEL", k.State())
			}
			server.do(damage...)
			before := server.dump()
			if _, err := store.Tidy(t.Context()); err != nil {
				t.Error(err)
			}
			expectDump(t, server, before)
		})
	}
}

// The leader repeatedly records finished workers in the tables of a new incarnation while tables are removed.
func TestTidyDuringWrites(t *testing.T) {
	store := newServer(t).store(t, func(o *Options) { o.PoolSize = 4 })
	mustOpen(t, store)
	tidyMeanwhile(t, store)
	for n := range 300 {
		state, config := aState(), aConfig(2)
		state.Incarnation = fmt.Sprint("A", n)
		config.Incarnation = state.Incarnation
		finished := []rounds.FinishedSlot{{Slot: slotOf(1).Name}}
		if _, err := store.Set(t.Context(), uid, stateOf(t, store, uid), state, config, finished, nil); err != nil {
			t.Fatal(err)
		}
		if stored, err := store.Read(t.Context(), uid); err != nil || stored.Finished[0] != 1 || stored.Joined[0] != 1 {
			t.Fatalf("write %d: stored %+v, %v", n, stored, err)
		}
	}
}

// tidyMeanwhile keeps removing tables until the test ends.
func tidyMeanwhile(t *testing.T, store *Store) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if _, err := store.Tidy(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
}

// A store that was reset to an earlier state may have a table of a later round, to which the members return.
func TestTidyKeepsTablesOfLaterRounds(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store)
	mustCall(t, store, rounds.Join("A", 0, 1, 0, memberOf(0)))
	before := server.dump()
	if _, err := store.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectDump(t, server, before)
}

// Groups keep restarting while tables are removed. If a table in use were removed, its round would not start.
func TestTidyDuringRestarts(t *testing.T) {
	server := newServer(t)
	store := server.store(t, func(o *Options) { o.PoolSize = 4 })
	mustOpen(t, store)
	mustJoin(t, store)
	tidyMeanwhile(t, store)
	for round := range int64(300) {
		died := memberOf(0).ID
		if round > 0 {
			died = fmt.Sprint(died, "-", round)
		}
		d := rounds.Death{Slot: slotOf(0), ID: died, Round: round, Ran: true, Cause: "exit 1"}
		if l := mustCall(t, store, rounds.Down("A", 0, d)); l.Round != round+1 {
			t.Fatalf("a death in round %d: %s", round, l)
		}
		for n := range 2 {
			m := memberOf(n)
			m.ID, m.Attempt = fmt.Sprint(m.ID, "-", round+1), round+2
			if l := mustCall(t, store, rounds.Join("A", 0, round+1, 1, m)); n == 1 && !l.Running() {
				t.Fatalf("both have joined round %d: %s", round+1, l)
			}
		}
	}
}
