package group_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/interpreter"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// wanted has a driver stage, which others wait for, and a worker stage.
var wanted = group.Wanted{
	Token: coordination.Token{LeaseCreated: 7, Transitions: 1}, Generation: 1, Limit: 5, MaxPause: 32 * time.Second, Barrier: true,
	Stages: []coordination.Stage{
		{Prefix: "js-driver", Jobs: 1, Pods: 1, Release: coordination.ReleaseGate},
		{Prefix: "js-worker", Jobs: 2, Pods: 2, Step: 1},
	},
}

// A member writes random values to those keys of its group that it is allowed to write. The leader still reads, decides and
// repairs the group in a few writes, without panicking.
func TestForgedRecords(t *testing.T) {
	foreign := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		store := memory.New(time.Now)
		if _, err := grouptest.Open(t.Context(), store, "g", wanted); err != nil {
			t.Fatal(err)
		}
		dump := store.Dump()
		server, err := memory.NewServer(memory.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		server.Restore(dump)
		for range 1 + r.IntN(4) {
			forge(r, server)
		}
		store.Restore(server.Dump())
		g, err := grouptest.Read(t.Context(), store, "g")
		if errors.Is(err, coordination.ErrForeignValue) || errors.Is(err, coordination.ErrNoGroup) {
			foreign++
			if err := store.Drop(t.Context(), "g"); err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		} else if g.Generation != wanted.Generation {
			t.Fatalf("seed %d: generation %d", seed, g.Generation)
		}
		stored, _ := store.Read(t.Context(), "g")
		lines, _ := store.History(t.Context(), "g")
		for _, record := range group.Records(stored, lines) {
			if record.FailedAt > record.ReportedAt || record.ReportedAt < 0 || record.InSyncAt < 0 {
				t.Fatalf("seed %d: %+v", seed, record)
			}
		}
		if _, err := grouptest.Open(t.Context(), store, "g", wanted); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if foreign < 100 || foreign > 900 {
		t.Errorf("only %d of 1000 values are foreign, so the test shows little", foreign)
	}
}

// forgeable is the part of a server that forge needs.
type forgeable interface {
	Do(name string, args ...string) any
}

// forge replaces words in a value that a member is allowed to write, or makes up a value.
func forge(r *rand.Rand, server forgeable) {
	k := rounds.KeysOf("g")
	state, _ := server.Do("GETRANGE", k.State(), "0", "-1").(string)
	words := []string{"0", "1", "2", "99", "-1", "A", "B", "D", "-", "0,1", "next", "end", "x", "", fmt.Sprint(rounds.MaxCount), fmt.Sprint(int64(1) << 43)}
	line := func() string {
		return fmt.Sprintf("%s %s %s %s %s w-0-0 exit %[1]s %[2]s - - - %[3]s %[4]s", pick(r, words), pick(r, words), pick(r, words), pick(r, words), pick(r, words))
	}
	level, err := rounds.ParseLevel(state)
	if err != nil {
		return
	}
	switch r.IntN(6) {
	case 0, 1:
		server.Do("SET", k.State(), replaceWord(r, state, words))
	case 2:
		server.Do("HSET", k.History(), fmt.Sprint(r.IntN(3)), line())
	case 3:
		server.Do("HSET", pick(r, []string{k.Joined(level, 0), k.Finished(level, 0), k.Holders(1)}), pick(r, words), line())
	case 4:
		server.Do("SET", k.FirstDeath(), line())
	case 5:
		server.Do("UNLINK", k.State(), k.History())
	}
}

func pick(r *rand.Rand, of []string) string { return of[r.IntN(len(of))] }

// replaceWord replaces one word of a text.
func replaceWord(r *rand.Rand, text string, words []string) string {
	parts := strings.Split(text, " ")
	parts[r.IntN(len(parts))] = pick(r, words)
	return strings.Join(parts, " ")
}

// The functions either reject values that they cannot read, or continue. None of them fails with a Lua error.
func TestCallsOnForgedRecords(t *testing.T) {
	refused := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		store := memory.New(time.Now)
		g, err := grouptest.Open(t.Context(), store, "g", wanted)
		if err != nil {
			t.Fatal(err)
		}
		server, err := interpreter.New(interpreter.Options{Library: rounds.Library, Now: time.Now, Publish: func(string, string) {}})
		if err != nil {
			t.Fatal(err)
		}
		server.Restore(store.Dump())
		slot, inc := rounds.Slot{Name: g.Units[0].SlotNames()[0], Pod: "pod"}, g.Level.Incarnation
		m := rounds.Member{Slot: slot, ID: "a", Attempt: 1, Past: rounds.Past{Kind: rounds.PastNew}}
		calls := []rounds.Call{
			rounds.Join(inc, 0, 0, 0, m), rounds.Join(inc, 0, 1, 2, m), rounds.Lost(inc, 0, slot, 2, 1), rounds.Finish(inc, 0, slot, "a", false),
			rounds.Down(inc, 0, rounds.Death{Slot: slot, ID: "a", Ran: true, Cause: "exit"}), rounds.Ask(inc, 0, slot, "gap"),
			rounds.Release(wanted.Token, inc, 0, slot, "w-0 pod", rounds.Slot{}),
		}
		for range 8 {
			forge(r, server)
			call := calls[r.IntN(len(calls))]
			args := make([]string, len(call.Arguments))
			for i, a := range call.Arguments {
				args[i] = fmt.Sprint(a)
			}
			_, err := server.FCall(call.Function, []string{rounds.KeysOf("g").State()}, args)
			if err != nil && rounds.Error(err.Error()) == nil {
				t.Fatalf("seed %d, %s: %v", seed, call.Function, err)
			}
			if err != nil {
				refused++
			}
		}
	}
	if refused < 300 {
		t.Errorf("only %d calls were rejected, so the test shows little", refused)
	}
}
