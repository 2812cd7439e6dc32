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
	"github.com/holdfast-project/holdfast/shared/coordination/interpreter"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// roundsServer is a server with the functions of package rounds.
func roundsServer(t testing.TB) *server {
	t.Helper()
	s := newServer(t)
	s.do("FUNCTION", "LOAD", rounds.Library)
	return s
}

func (s *server) callRounds(c *redis.Client, group string, call rounds.Call) (any, error) {
	args := []any{"FCALL", call.Function, 1, rounds.KeysOf(group).State()}
	return c.Do(context.Background(), append(args, call.Arguments...)...).Result()
}

// someCall is a random call: most fit the group, some are late, forged or of another incarnation.
func someCall(r *rand.Rand, seq int64) rounds.Call {
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
		return rounds.Release(token, inc, unit, slot, "pod")
	case 4:
		if r.IntN(3) == 0 {
			seq = rounds.AnySeq
		}
		l := rounds.Level{Incarnation: pick("i1", "i2"), Generation: 1 + int64(r.IntN(2)), Phase: rounds.Active, Round: int64(r.IntN(2)), Left: rounds.NoUnits}
		return rounds.Set(seq, rounds.Fresh(l, 2), rounds.Config{
			Token: token, Incarnation: l.Incarnation, Generation: l.Generation, Limit: 3, MaxPause: 4 * time.Second,
			Units:  []rounds.Unit{{Slots: 2, End: 1}, {Slots: 1, End: 2}},
			Stages: []rounds.Bounds{{Prefix: "w", Jobs: 2, Pods: 1}, {Prefix: "v", Unit: 1, Jobs: 1, Pods: 1}},
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

// moments are Unix milliseconds.
var moments = regexp.MustCompile(`\b1[0-9]{12}\b`)

// TestTheInterpreterPlaysRounds makes the same random calls of a real server and of the interpreter that simulations use.
func TestTheInterpreterPlaysRounds(t *testing.T) {
	real := roundsServer(t)
	keys := rounds.KeysOf("g")
	for seed := range uint64(150) {
		real.do("FLUSHDB")
		r := rand.New(rand.NewPCG(seed, 1))
		played, err := interpreter.New(interpreter.Options{Library: rounds.Library, Now: time.Now, Publish: func(string, string) {}})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 60 {
			seq := int64(0)
			if s, err := rounds.ParseState(played.Do("GETRANGE", keys.State(), "0", "511").(string)); err == nil {
				seq = s.Seq
			}
			call := someCall(r, seq)
			got, gotErr := real.callRounds(real.admin, "g", call)
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

// contents are all keys and values.
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

// opened is a call that opens a group with one unit.
func opened(slots int64) rounds.Call {
	l := rounds.Level{Incarnation: "i1", Generation: 1, Phase: rounds.Active, Left: rounds.NoUnits}
	return rounds.Set(rounds.AnySeq, rounds.Fresh(l, 1), rounds.Config{
		Token: coordination.Token{LeaseCreated: 1}, Incarnation: "i1", Generation: 1, Limit: rounds.MaxCount, Units: []rounds.Unit{{Slots: slots, End: 1}},
	})
}

func worker(n int) rounds.Member {
	return rounds.Member{Slot: rounds.Slot{Name: fmt.Sprint("w-", n), Pod: fmt.Sprint("pod-", n)}, ID: fmt.Sprint("id-", n), Past: rounds.Past{Kind: rounds.PastRan}}
}

// TestWhatAMemberMayDoWithRounds: a member reports, and reads what the leader has decided. It cannot write that, nor anything of
// another group.
func TestWhatAMemberMayDoWithRounds(t *testing.T) {
	s := roundsServer(t)
	for _, group := range []string{"g", "other"} {
		if _, err := s.callRounds(s.admin, group, opened(2)); err != nil {
			t.Fatal(err)
		}
	}
	s.asUser(t, rounds.MemberRules("g"))
	member := redis.NewClient(&redis.Options{Addr: s.address, Username: "agent", Password: "secret", Protocol: 2})
	t.Cleanup(func() { _ = member.Close() })
	for n := range 2 {
		if reply, err := s.callRounds(member, "g", rounds.Join("i1", 0, 0, 0, worker(n))); err != nil || reply != "J" {
			t.Fatalf("a join: %v, %v", reply, err)
		}
	}
	w := worker(0)
	for _, c := range []rounds.Call{
		rounds.Down("i1", 0, rounds.Death{Slot: w.Slot, ID: w.ID, Ran: true, Cause: "exit 1"}),
		rounds.Lost("i1", 0, w.Slot, 1, 1), rounds.Finish("i1", 0, w.Slot, w.ID, true), rounds.Ask("i1", 0, w.Slot, "gap"),
	} {
		if reply, err := s.callRounds(member, "g", c); err != nil {
			t.Errorf("%s: %v, %v", c.Function, reply, err)
		}
	}
	before := s.contents()
	config, theirs := rounds.KeysOf("g").Config(), rounds.KeysOf("other")
	for name, args := range map[string][]any{
		"a larger budget":                  {"HSET", config, "limit", 99},
		"a fence lifted":                   {"HDEL", config, "x:pod-0"},
		"the end of the leader's decision": {"UNLINK", config},
		"a state of another group":         {"SET", theirs.State(), "x"},
		"a read of another group":          {"HGET", theirs.Config(), "inc"},
		"an ear on another group":          {"SUBSCRIBE", theirs.Channel()},
		"a report to another group":        {"FCALL", rounds.FunctionJoin, 1, theirs.State(), "i1", 0, 0, 0, "w-0", "p", "id", 0, 0, "n"},
		"a prefix of its own":              {"FCALL", rounds.FunctionJoin, 1, "x:s", "i1", 0, 0, 0, "w-0", "p", "id", 0, 0, "n"},
		"a decision of the leader":         append([]any{"FCALL", rounds.FunctionSet, 1, rounds.KeysOf("g").State()}, opened(1).Arguments...),
		"a release":                        {"FCALL", rounds.FunctionRelease, 1, rounds.KeysOf("g").State(), "i1", 0, "w-0", "pod-0", "1 0", "pod"},
	} {
		if reply, err := member.Do(context.Background(), args...).Result(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%s: %v, %v", name, reply, err)
		}
	}
	if after := s.contents(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// BenchmarkNoOpJoin is a join that has been made before: what a member costs the store inside a function.
func BenchmarkNoOpJoin(b *testing.B) {
	for _, slots := range []int{100, 5000} {
		for _, batch := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("slots=%d/batch=%d", slots, batch), func(b *testing.B) {
				s := roundsServer(b)
				if _, err := s.callRounds(s.admin, "g", opened(int64(slots)+1)); err != nil {
					b.Fatal(err)
				}
				calls := make([]rounds.Call, 0, slots/batch)
				for from := 0; from < slots; from += batch {
					members := make([]rounds.Member, batch)
					for i := range members {
						members[i] = worker(from + i)
					}
					calls = append(calls, rounds.Join("i1", 0, 0, 0, members...))
				}
				for _, c := range calls {
					if _, err := s.callRounds(s.admin, "g", c); err != nil {
						b.Fatal(err)
					}
				}
				s.do("CONFIG", "RESETSTAT")
				for n := range b.N {
					if _, err := s.callRounds(s.admin, "g", calls[n%len(calls)]); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(s.microseconds("fcall")/float64(batch), "us/member")
			})
		}
	}
}

// BenchmarkRounds restarts a whole group over and over, as BenchmarkRestart does with the functions that are in use: one failure,
// then a join of every slot, each followed by a read of the level. A stop on an order is not reported.
func BenchmarkRounds(b *testing.B) {
	for _, size := range []int64{100, 5000} {
		b.Run(fmt.Sprintf("slots=%d", size), func(b *testing.B) { benchmarkRounds(b, size) })
	}
}

func benchmarkRounds(b *testing.B, size int64) {
	server := roundsServer(b)
	store := Rounds{server.store(b, func(o *Options) { o.PoolSize = benchClients })}
	g := benchGroup{b: b, store: store.store, size: size}
	if _, err := server.callRounds(server.admin, uid, opened(size)); err != nil {
		b.Fatal(err)
	}
	join := func(round int64) func(slot int64) error {
		return func(slot int64) error {
			m := worker(int(slot))
			m.ID, m.Attempt = fmt.Sprintf("i-%d-%d", slot, round), round
			reply, _, err := store.Call(context.Background(), uid, rounds.Join("i1", 0, round, 1, m))
			if err == nil && reply != "J" {
				err = fmt.Errorf("slot %d: %s", slot, reply)
			}
			return err
		}
	}
	g.all(join(0))
	server.do("CONFIG", "RESETSTAT")
	before := server.cpu()
	b.ResetTimer()
	for round := range int64(b.N) {
		d := rounds.Death{Slot: worker(0).Slot, ID: fmt.Sprintf("i-0-%d", round), Round: round, Ran: true, Cause: "exit 1"}
		if _, _, err := store.Call(context.Background(), uid, rounds.Down("i1", 0, d)); err != nil {
			b.Fatal(err)
		}
		g.all(join(round + 1))
	}
	b.StopTimer()
	restarts := float64(size * int64(b.N)) // of slots
	b.ReportMetric(restarts/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(server.microseconds("fcall"), "us/call")
	b.ReportMetric((server.cpu()-before)*1e6/restarts, "cpu-us/restart")
	if s, err := store.Read(context.Background(), uid); err != nil || !s.State.Running() || s.State.Round != int64(b.N) {
		b.Errorf("the group is %v, error %v; want round %d", s, err, b.N)
	}
}

// BenchmarkForgedData is the longest call that a member can cause with what it may store.
func BenchmarkForgedData(b *testing.B) {
	s := roundsServer(b)
	ctx := context.Background()
	if _, err := s.callRounds(s.admin, "g", opened(2)); err != nil {
		b.Fatal(err)
	}
	keys, big := rounds.KeysOf("g"), strings.Repeat("x", 8<<20)
	l := rounds.Level{Incarnation: "i1"}
	for from := 0; from < 100_000; from += 1000 {
		args := make([]any, 0, 2000)
		for n := range 1000 {
			args = append(args, fmt.Sprint("forged-", from+n), "id 0 1")
		}
		for _, key := range []string{keys.Joined(l, 0), keys.Finished(l, 0), keys.Holders(1)} {
			s.admin.HSet(ctx, key, args...)
		}
	}
	s.admin.HSet(ctx, keys.Holders(1), "w-9", big)
	s.admin.HSet(ctx, keys.Joined(l, 0), "w-8", big)
	s.admin.Set(ctx, keys.FirstDeath(), big, 0)
	s.admin.HSet(ctx, keys.History(), "1", big)
	dump := s.dump()
	forged := worker(9)
	members := make([]rounds.Member, rounds.MaxBatch)
	for i := range members {
		members[i] = forged
	}
	attacks := map[string]rounds.Call{
		"a join beside a forged holder": rounds.Join("i1", 0, 0, 0, members...),
		"a join in a forged slot":       rounds.Join("i1", 0, 0, 0, worker(8)),
		"the last join":                 rounds.Join("i1", 0, 0, 0, worker(0)),
		"a death":                       rounds.Down("i1", 0, rounds.Death{Slot: worker(0).Slot, ID: "id-0", Ran: true, Cause: big[:rounds.MaxText]}),
		"a later round":                 rounds.Lost("i1", 0, worker(0).Slot, 1<<40, 1),
	}
	for name, call := range attacks {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			worst := 0.0
			for b.Loop() {
				s.load(dump)
				s.do("CONFIG", "RESETSTAT")
				_, _ = s.callRounds(s.admin, "g", call) // whether it is refused is for other tests
				worst = max(worst, s.microseconds("fcall"))
			}
			b.ReportMetric(worst, "us/worst-call")
		})
	}
}
