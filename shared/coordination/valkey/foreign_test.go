package valkey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Every call that needs the state reports that it is foreign and leaves it unchanged. The leader then writes a new state.
func TestForeignStates(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	key := rounds.KeysOf(uid).State()
	for name, text := range map[string]string{
		"a word":                      "nonsense",
		"only a level":                "2 A 1 2 A 0 1 1 - 0",
		"another version":             "3 A 1 2 A 0 1 1 - 0|1 0 0 0 1",
		"another incarnation":         "2 B 1 2 A 0 1 1 - 0|1 0 0 0 1",
		"no incarnation":              "2  1 2 A 0 1 1 - 0|1 0 0 0 1",
		"a negative round":            "2 A 1 2 A -1 1 1 - 0|1 0 0 0 1",
		"a round with an exponent":    "2 A 1 2 A 1e3 1 1 - 0|1 0 0 0 1",
		"a round beyond all counts":   "2 A 1 2 A 9007199254740993 1 1 - 0|1 0 0 0 1",
		"a seq of many digits":        "2 A 1 " + strings.Repeat("9", 300) + " A 0 1 1 - 0|1 0 0 0 1",
		"more started than units":     "2 A 1 2 A 0 2 1 - 0|1 0 0 0 1",
		"more entered than units":     "2 A 1 2 A 0 1 99 - 0|1 0 0 0 1",
		"more joined than units":      "2 A 1 2 A 0 1 1 - 0|2 0 0 0 1",
		"one mark too many":           "2 A 1 2 A 0 1 1 - 0|1 0 0 0 11",
		"an unknown mark":             "2 A 1 2 A 0 1 1 - 0|1 0 0 0 9",
		"a phase of two letters":      "2 A 1 2 AB 0 1 1 - 0|1 0 0 0 1",
		"a long text":                 strings.Repeat("x", 8<<20),
		"a state with a long suffix":  "2 A 1 2 A 0 1 1 - 0|1 0 0 0 1" + strings.Repeat("1", 8<<20),
		"a state with leading blanks": strings.Repeat(" ", rounds.MaxText) + "2 A 1 2 A 0 1 1 - 0|1 0 0 0 1",
	} {
		t.Run(name, func(t *testing.T) {
			server.do("FLUSHALL")
			mustOpen(t, store)
			mustJoin(t, store)
			server.do("SET", key, text)
			for _, call := range memberCalls()[2:] {
				wantForeign(t, call.Function, key, second(store.Call(t.Context(), uid, call)))
			}
			_, err := store.Read(t.Context(), uid)
			wantForeign(t, "the leader reads", key, err)
			if server.do("GET", key) != text {
				t.Error("the state was changed")
			}
			mustOpen(t, store)
			mustCall(t, store, aJoin(0))
		})
	}
}

// A key of another type is a foreign value to every call that needs it.
func TestForeignTypes(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	k := rounds.KeysOf(uid)
	for name, c := range map[string]struct {
		key  string
		call rounds.Call
	}{
		"the state":    {k.State(), aDeath(0)},
		"the holders":  {k.Holders(1), aJoin(0)},
		"the joined":   {k.Joined(aState().Level, 0), aJoin(0)},
		"the finished": {k.Finished(aState().Level, 0), rounds.Finish("A", 0, slotOf(0), memberOf(0).ID, true)},
		"the history":  {k.History(), aDeath(0)},
	} {
		t.Run(name, func(t *testing.T) {
			server.do("FLUSHALL")
			mustOpen(t, store)
			mustJoin(t, store)
			server.do("DEL", c.key)
			server.do("RPUSH", c.key, "x")
			wantForeign(t, c.call.Function, "", second(store.Call(t.Context(), uid, c.call)))
			if stored, err := store.Read(t.Context(), uid); err != nil && stored != nil {
				t.Errorf("the leader's read returns a group together with the error %v", err)
			}
		})
	}
}

func second(_ string, _ rounds.Level, err error) error { return err }

func wantForeign(t *testing.T, what, key string, err error) {
	t.Helper()
	var named *coordination.ForeignValueError
	if !errors.Is(err, coordination.ErrForeignValue) || errors.As(err, &named) && key != "" && named.Key != key {
		t.Errorf("%s: %v, want a foreign value at %s", what, err, key)
	}
}

func expectDump(t *testing.T, s *server, before map[string]string) {
	t.Helper()
	if after := s.dump(); !maps.Equal(before, after) {
		t.Errorf("something changed: %s", cmp.Diff(before, after))
	}
}

func TestForgedHistoryIsIgnored(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store)
	mustJoin(t, store)
	mustCall(t, store, aDeath(0))
	key := rounds.KeysOf(uid).History()
	server.do("HSET", key, "7", "nonsense", "8", strings.Repeat("x", 64<<10), "elsewhere", "1 2 3")
	lines, err := store.History(t.Context(), uid)
	if err != nil || len(lines) != 1 || lines[0].Round != 1 || lines[0].Cause != "exit 1" {
		t.Errorf("history %+v, %v; want the one death", lines, err)
	}
	server.do("HSET", key, "2", strings.Repeat("x", 8<<20)) // in the field of the next round
	if stored, err := store.Read(t.Context(), uid); err != nil || len(stored.Lines) != 1 {
		t.Errorf("read %+v, %v; want one line", stored, err)
	}
	if lines, err := store.History(t.Context(), uid); err != nil || len(lines) != 1 {
		t.Errorf("history %+v, %v; want one line", lines, err)
	}
}

func TestUnreadableGroupIsDropped(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	for _, key := range []string{rounds.KeysOf(uid).State(), rounds.KeysOf(uid).Config(), rounds.KeysOf(uid).Holders(1)} {
		mustOpen(t, store)
		mustJoin(t, store)
		server.do("DEL", key)
		server.do("RPUSH", key, "x")
		if err := store.Drop(t.Context(), uid); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		expectDump(t, server, map[string]string{})
	}
}

const mutations = 2000

// The test randomly changes values that members may write. The functions accept a value or reject it with a protocol error. They
// never fail with a Lua error.
func TestMutatedValues(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	ctx := context.Background()
	mustOpen(t, store)
	mustJoin(t, store)
	good := server.dump()
	k := rounds.KeysOf(uid)
	replaced := memberOf(0)
	replaced.ID, replaced.Attempt = "i-0b", 2
	calls := append(memberCalls(), rounds.Join("A", 0, 0, 0, replaced))
	r := rand.New(rand.NewPCG(1, 1))
	refused := 0
	for n := range mutations {
		server.load(good)
		switch n % 4 {
		case 0:
			server.do("HSET", k.Joined(aState().Level, 0), slotOf(0).Name, mutate(r, "i-0 1 0"))
		case 1:
			server.do("HSET", k.Holders(1), slotOf(0).Name, mutate(r, slotOf(0).Pod))
		default:
			server.do("SET", k.State(), mutate(r, server.do("GET", k.State()).(string)))
		}
		before := fmt.Sprint(server.do("GET", k.State()), server.do("HGETALL", k.Joined(aState().Level, 0)))
		call := calls[r.IntN(len(calls))]
		args := append([]any{"FCALL", call.Function, 1, k.State()}, call.Arguments...)
		err := server.admin.Do(ctx, args...).Err()
		if err != nil && rounds.Error(err.Error()) == nil {
			t.Fatalf("%s %v in %q: %v", call.Function, call.Arguments, before, err)
		}
		if err != nil {
			refused++
		}
	}
	if refused < mutations/4 {
		t.Errorf("only %d of %d values were rejected", refused, mutations)
	}
}

// mutate replaces, removes or inserts one or two bytes.
func mutate(r *rand.Rand, s string) string {
	const alphabet = " -0123456789abe.x\n\x00\x7f\xff"
	b := []byte(s)
	for range 1 + r.IntN(2) {
		at, c := r.IntN(len(b)), alphabet[r.IntN(len(alphabet))]
		switch r.IntN(3) {
		case 0:
			b[at] = c
		case 1:
			b = append(b[:at], b[at+1:]...)
		default:
			b = append(b[:at], append([]byte{c}, b[at:]...)...)
		}
	}
	return string(b)
}
