package valkey

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const benchClients = 50

// BenchmarkRestart restarts a whole group repeatedly: one death, then a join of every slot, each followed by a read of the level.
// The cost of a slot's report must not depend on the size of the group: compare us/call.
func BenchmarkRestart(b *testing.B) {
	for _, size := range []int64{100, 5000} {
		b.Run(fmt.Sprintf("slots=%d", size), func(b *testing.B) { benchmarkRestart(b, size) })
	}
}

func benchmarkRestart(b *testing.B, size int64) {
	server := newServer(b)
	store := server.store(b, func(o *Options) { o.PoolSize = benchClients })
	mustWrite(b, store, uid, aState(), aConfig(size))
	join := func(round int64) func(slot int64) error {
		return func(slot int64) error {
			m := memberOf(int(slot))
			m.ID, m.Attempt = fmt.Sprintf("i-%d-%d", slot, round), round
			reply, _, err := store.Call(context.Background(), uid, rounds.Join("A", 0, round, 1, m))
			if err == nil && reply != string(rounds.AnswerJoined) {
				err = fmt.Errorf("slot %d: %s", slot, reply)
			}
			return err
		}
	}
	all(b, size, join(0))
	server.do("CONFIG", "RESETSTAT")
	before := server.cpu()
	b.ResetTimer()
	for round := range int64(b.N) {
		d := rounds.Death{Slot: slotOf(0), ID: fmt.Sprintf("i-0-%d", round), Round: round, Ran: true, Cause: "exit 1"}
		mustCall(b, store, rounds.Down("A", 0, d))
		all(b, size, join(round+1))
	}
	b.StopTimer()
	restarts := float64(size * int64(b.N)) // number of slot restarts
	b.ReportMetric(restarts/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(server.microseconds("fcall"), "us/call")
	b.ReportMetric((server.cpu()-before)*1e6/restarts, "cpu-us/restart")
	if s, err := store.Read(context.Background(), uid); err != nil || !s.State.Running() || s.State.Round != int64(b.N) {
		b.Errorf("the group is %v, error %v; want round %d", s, err, b.N)
	}
}

// all makes a call for every slot. The number of concurrent callers equals the number of connections.
func all(b *testing.B, size int64, call func(slot int64) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range benchClients {
		wg.Go(func() {
			for slot := next.Add(1) - 1; slot < size; slot = next.Add(1) - 1 {
				if err := call(slot); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkRepeatedJoin repeats a join, to measure how long the store spends on each member within a function.
func BenchmarkRepeatedJoin(b *testing.B) {
	for _, slots := range []int{100, 5000} {
		for _, batch := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("slots=%d/batch=%d", slots, batch), func(b *testing.B) {
				server := newServer(b)
				store := server.store(b)
				mustWrite(b, store, uid, aState(), aConfig(int64(slots)+1))
				calls := make([]rounds.Call, 0, slots/batch)
				for from := 0; from < slots; from += batch {
					members := make([]rounds.Member, batch)
					for i := range members {
						members[i] = memberOf(from + i)
					}
					calls = append(calls, rounds.Join("A", 0, 0, 0, members...))
				}
				for _, c := range calls {
					server.do(fcall(rounds.KeysOf(uid).State(), c)...)
				}
				server.do("CONFIG", "RESETSTAT")
				for n := range b.N {
					server.do(fcall(rounds.KeysOf(uid).State(), calls[n%len(calls)])...)
				}
				b.ReportMetric(server.microseconds("fcall")/float64(batch), "us/member")
			})
		}
	}
}

const (
	manyStages = 1000
	manySlots  = 100_000
	largeValue = 8 << 20
)

// manySteps returns a group with the maximum number of stages, each in its own unit. All units except the first are complete.
func manySteps() (rounds.State, rounds.Config) {
	c := aConfig(2)
	l := aState().Level
	c.Units, c.Stages = nil, nil
	for u := range rounds.MaxUnits {
		c.Units = append(c.Units, rounds.Unit{End: rounds.MaxUnits})
		if u == 0 {
			c.Units[0].Slots = 2
		}
	}
	for n := range manyStages {
		prefix := "js-w"
		if n > 0 {
			prefix = fmt.Sprint("js-w", n)
		}
		c.Stages = append(c.Stages, rounds.Bounds{Stage: coordination.Stage{Prefix: prefix, Jobs: 1, Pods: 100}, Unit: n % rounds.MaxUnits})
	}
	return rounds.Fresh(l, rounds.MaxUnits), c
}

// forge writes a group of 1,000 stages in which one of two slots has joined, and fills all keys that members may write. It
// returns the most expensive calls that members can make.
func (s *server) forge(group string) map[string]rounds.Call {
	s.t.Helper()
	k, big, ctx := rounds.KeysOf(group), strings.Repeat("x", largeValue), context.Background()
	state, config := manySteps()
	s.do(fcall(k.State(), rounds.Set("", state, config))...)
	s.do(fcall(k.State(), aJoin(1))...)
	for from := 0; from < manySlots; from += 1000 {
		args := make([]any, 0, 2000)
		for n := range 1000 {
			args = append(args, fmt.Sprint("forged-", from+n), "id 0 1")
		}
		for _, key := range []string{k.Joined(state.Level, 1), k.Finished(state.Level, 0), k.Holders(1)} {
			s.admin.HSet(ctx, key, args...)
		}
	}
	s.admin.HSet(ctx, k.Holders(1), slotOf(9).Name, big)
	s.admin.HSet(ctx, k.Joined(state.Level, 0), slotOf(8).Name, big)
	s.admin.Set(ctx, k.FirstDeath(), big, 0)
	s.admin.HSet(ctx, k.History(), "1", big)
	many := make([]rounds.Member, rounds.MaxBatch)
	for i := range many {
		many[i] = memberOf(9)
	}
	return map[string]rounds.Call{
		"a join next to a forged holder": rounds.Join("A", 0, 0, 0, many...),
		"a join in a forged slot":        rounds.Join("A", 0, 0, 0, memberOf(8)),
		"the last join":                  aJoin(0),
		"a death":                        rounds.Down("A", 0, rounds.Death{Slot: slotOf(1), ID: memberOf(1).ID, Ran: true, Cause: strings.Repeat("x", rounds.MaxText)}),
		"a later round":                  rounds.Lost("A", 0, slotOf(0), 1<<40, 1),
		"a success":                      rounds.Finish("A", 0, slotOf(1), memberOf(1).ID, false),
		"a request":                      rounds.Ask("A", 0, slotOf(1), strings.Repeat("x", rounds.MaxText)),
	}
}

// BenchmarkForgedData measures the longest time for which a member's call can block the store, given all the data that the member
// may have stored before. It measures both the duration and the CPU time of the call, because other load does not affect the CPU
// time.
func BenchmarkForgedData(b *testing.B) {
	server := newServer(b)
	mustOpen(b, server.store(b))
	calls := server.forge(uid)
	dump := server.dump()
	for name, call := range calls {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			var all, cpu []float64
			for b.Loop() {
				server.load(dump)
				server.do("CONFIG", "RESETSTAT")
				cpu = append(cpu, server.cpuOf(uid, call))
				all = append(all, server.microseconds("fcall"))
			}
			slices.Sort(all)
			slices.Sort(cpu)
			b.ReportMetric(all[len(all)/2], "us/median-call")
			b.ReportMetric(all[len(all)-1], "us/worst-call")
			b.ReportMetric(cpu[len(cpu)-1], "cpu-us/worst-call")
		})
	}
	b.Run("the-leader's-Tidy", func(b *testing.B) {
		worst := 0.0
		for b.Loop() {
			server.load(dump)
			server.do("CONFIG", "RESETSTAT")
			if _, err := server.store(b, patient).Tidy(context.Background()); err != nil {
				b.Fatal(err)
			}
			worst = max(worst, server.microseconds("memory|usage"))
		}
		b.ReportMetric(worst, "us/mean-memory-usage")
	})
}

// cpuOf makes a call, which the server may reject, and returns the CPU time that the store's thread spent on it, in microseconds.
func (s *server) cpuOf(group string, c rounds.Call) float64 {
	s.t.Helper()
	before := s.threadCPU()
	_ = s.admin.Do(context.Background(), fcall(rounds.KeysOf(group).State(), c)...).Err()
	return (s.threadCPU() - before) * 1e6
}

// longest is the maximum CPU time that a member's call may take in the store, in microseconds.
const longest = 10_000

// A call runs the same number of commands in a small group as in a group with all the data that a member may have stored, and no
// command takes longer with more data.
func TestWorkOfACallIsLimited(t *testing.T) {
	server := newServer(t)
	mustOpen(t, server.store(t))
	forged := server.forge(uid)
	large := server.dump()
	state, config := manySteps()
	server.do("FLUSHALL")
	server.do(fcall(rounds.KeysOf(uid).State(), rounds.Set("", state, config))...)
	server.do(fcall(rounds.KeysOf(uid).State(), aJoin(1))...)
	small := server.dump()
	constant := strings.Fields("fcall hmget hget hset hsetnx hdel hlen hstrlen getrange set unlink publish time config|resetstat info")
	for name, call := range forged {
		t.Run(name, func(t *testing.T) {
			work := func(dump map[string]string) map[string]int {
				server.load(dump)
				server.do("CONFIG", "RESETSTAT")
				if took := server.cpuOf(uid, call); took > longest {
					t.Errorf("the call took %.0f us", took)
				}
				calls := map[string]int{}
				for command, s := range server.stats() {
					calls[command] = s.calls
				}
				return calls
			}
			few, many := work(small), work(large)
			if strings.Contains(name, "forged") {
				return // the server rejects it
			}
			for command, n := range many {
				if n > few[command]+1 { // a forged table may appear to be complete, which wakes the leader
					t.Errorf("%s was called %d times, but %d times in a small group", command, n, few[command])
				}
				if !slices.Contains(constant, command) {
					t.Errorf("%s was called", command)
				}
			}
			t.Logf("%v", many)
		})
	}
}
