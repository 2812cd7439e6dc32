package valkey

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/interpreter"
)

// loadedServer returns a server with the functions of package rounds.
func loadedServer(t testing.TB) *server {
	t.Helper()
	s := newServer(t)
	s.do("FUNCTION", "LOAD", rounds.Library)
	return s
}

// someCall returns a random call. Most calls fit the group; some are late, forged or from another incarnation.
func someCall(r *rand.Rand, before string) rounds.Call {
	pick := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	slot := rounds.Slot{Name: pick("w-0-0", "w-1-0", "w-2-0", "v-0-0"), Pod: pick("p0", "p1", "p2", "p3")}
	inc, unit, round := pick("i1", "i1", "i1", "i1", "i2"), r.IntN(2), int64(r.IntN(4))
	id := pick("a", "b", "c", strings.Repeat("x", 600))
	token := coordination.Token{LeaseCreated: 5, Transitions: int64(r.IntN(2))}
	switch r.IntN(12) {
	case 0:
		return rounds.Down(inc, unit, rounds.Death{Slot: slot, ID: id, Round: round, Ran: r.IntN(2) == 0, Leaves: r.IntN(4) == 0, Cause: "exit 1"})
	case 1:
		return rounds.Lost(inc, unit, slot, round, r.IntN(3))
	case 2:
		return rounds.Finish(inc, unit, slot, id, r.IntN(2) == 0)
	case 3:
		if r.IntN(4) == 0 {
			return rounds.Ask(inc, unit, slot, "gap")
		}
		heir := rounds.Slot{}
		if r.IntN(2) == 0 {
			heir = rounds.Slot{Name: pick("w-spares-0", "w-0-0", slot.Name), Pod: pick("p0", "p1", "p2", "s0")}
			slot.Pod = pick("", slot.Pod)
		}
		return rounds.Release(token, inc, unit, slot, "w-0 pod", heir)
	case 4:
		if r.IntN(3) == 0 {
			before = ""
		}
		l := rounds.Level{Incarnation: pick("i1", "i2"), Generation: 1 + int64(r.IntN(2)), Phase: rounds.Active, Round: int64(r.IntN(2)), Left: rounds.NoUnits}
		return rounds.Set(before, rounds.Fresh(l, 2), rounds.Config{
			Token: token, Incarnation: l.Incarnation, Generation: l.Generation, Limit: 3, MaxPause: 4 * time.Second,
			Units:  []rounds.Unit{{Slots: 2, End: 1}, {Slots: 1, End: 2}},
			Stages: []rounds.Bounds{{Stage: coordination.Stage{Prefix: "w", Jobs: 2, Pods: 1}}, {Stage: coordination.Stage{Prefix: "v", Jobs: 1, Pods: 1}, Unit: 1}},
		})
	}
	members := make([]rounds.Member, 1+r.IntN(2))
	for i := range members {
		members[i] = rounds.Member{
			Slot: rounds.Slot{Name: pick("w-0-0", "w-1-0", "v-0-0"), Pod: pick("p0", "p1", "p2")}, ID: pick("a", "b", "c"), Attempt: int64(r.IntN(3)),
			Ran: r.IntN(2) == 0, Past: rounds.Past{Kind: rounds.PastKind(pick("n", "h", "h", "r", "d")), MoreEntered: r.IntN(8) == 0},
		}
	}
	return rounds.Join(inc, unit, round, r.IntN(3), members...)
}

// moments matches Unix milliseconds.
var moments = regexp.MustCompile(`\b1[0-9]{12}\b`)

// A real server and the simulation's interpreter get the same random calls.
func TestInterpreterMatchesAServer(t *testing.T) {
	real := loadedServer(t)
	keys := rounds.KeysOf("g")
	for seed := range uint64(150) {
		real.do("FLUSHDB")
		r := rand.New(rand.NewPCG(seed, 1))
		played, err := interpreter.New(interpreter.Options{Library: rounds.Library, Now: time.Now, Publish: func(string, string) {}})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 60 {
			state := played.Do("GETRANGE", keys.State(), "0", "511").(string)
			call := someCall(r, state)
			onServer := call
			if call.Function == rounds.FunctionSet && call.Arguments[1] == state { // the states differ in the start time
				onServer.Arguments = slices.Clone(call.Arguments)
				onServer.Arguments[1] = real.admin.GetRange(t.Context(), keys.State(), 0, 511).Val()
			}
			got, gotErr := real.admin.Do(t.Context(), fcall(keys.State(), onServer)...).Result()
			args := make([]string, len(call.Arguments))
			for i, a := range call.Arguments {
				args[i] = fmt.Sprint(a)
			}
			want, wantErr := played.FCall(call.Function, []string{keys.State()}, args)
			if a, b := outcome(got, gotErr)+real.contents(), outcome(want, wantErr)+contentsOf(played); a != b {
				t.Fatalf("seed %d, call %d, %s %v:\nserver:      %s\ninterpreter: %s", seed, n, call.Function, args, a, b)
			}
		}
	}
}

func outcome(reply any, err error) string {
	if err != nil && err != redis.Nil {
		reply = rounds.Error(err.Error())
	}
	return moments.ReplaceAllString(fmt.Sprintln(reply), "MOMENT")
}

// contents returns all keys and values.
func (s *server) contents() string {
	var lines []string
	ctx := context.Background()
	for _, key := range s.admin.Keys(ctx, "*").Val() {
		if s.admin.Type(ctx, key).Val() == "string" {
			lines = append(lines, key+" "+s.admin.Get(ctx, key).Val())
		} else {
			lines = append(lines, fmt.Sprint(key, " ", s.admin.HGetAll(ctx, key).Val()))
		}
	}
	return sorted(lines)
}

func contentsOf(s *interpreter.Server) string {
	var lines []string
	for _, key := range s.Keys() {
		if h := s.Hash(key); h != nil {
			lines = append(lines, fmt.Sprint(key, " ", h))
		} else {
			lines = append(lines, key+" "+s.Do("GETRANGE", key, "0", "-1").(string))
		}
	}
	return sorted(lines)
}

func sorted(lines []string) string {
	slices.Sort(lines)
	return moments.ReplaceAllString(strings.Join(lines, "\n"), "MOMENT")
}
