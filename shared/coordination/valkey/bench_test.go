package valkey

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

const benchClients = 50

// BenchmarkRestart restarts a whole group over and over: one failure, then a death and a join of every slot, apart as sidecars
// tell them, or together as supervisors do. The reports of a slot must cost the same whatever the size of the group: compare
// us/call.
func BenchmarkRestart(b *testing.B) {
	for _, size := range []int64{100, 5000} {
		b.Run(fmt.Sprintf("slots=%d/apart", size), func(b *testing.B) { benchmarkRestart(b, size, false) })
		b.Run(fmt.Sprintf("slots=%d/together", size), func(b *testing.B) { benchmarkRestart(b, size, true) })
	}
}

func benchmarkRestart(b *testing.B, size int64, together bool) {
	server := newServer(b)
	store := server.store(b, func(o *Options) { o.PoolSize = benchClients })
	o := anOpening()
	o.Limit, o.Stages = coordination.MaxCount, []coordination.Stage{{Prefix: "js-w", Jobs: size, Pods: 1}}
	mustOpen(b, store, o)
	g := benchGroup{b: b, store: store, size: size, together: together}
	g.all(func(slot int64) error { return g.join(slot, 0) })
	server.do("CONFIG", "RESETSTAT")
	before := server.cpu()
	b.ResetTimer()
	for round := range int64(b.N) {
		if err := g.down(0, round); err != nil {
			b.Fatal(err)
		}
		if !together {
			g.all(func(slot int64) error { return g.down(slot, round) })
		}
		g.all(func(slot int64) error { return g.join(slot, round+1) })
	}
	b.StopTimer()
	restarts := float64(size * int64(b.N)) // of slots
	calls := restarts
	if !together {
		calls *= 2
	}
	b.ReportMetric(calls/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(server.microseconds("fcall"), "us/call")
	b.ReportMetric((server.cpu()-before)*1e6/restarts, "cpu-us/restart")
	if s, err := store.Summary(context.Background(), uid); err != nil || s.Phase != coordination.Running || s.Round != int64(b.N) {
		b.Errorf("the group is %s(%d), error %v; want Running(%d)", s.Phase, s.Round, err, b.N)
	}
}

type benchGroup struct {
	b        *testing.B
	store    *Store
	size     int64
	together bool
}

// all runs a call for every slot, from as many agents at a time as there are connections.
func (g benchGroup) all(call func(slot int64) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range benchClients {
		wg.Go(func() {
			for slot := next.Add(1) - 1; slot < g.size; slot = next.Add(1) - 1 {
				if err := call(slot); err != nil {
					g.b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func (g benchGroup) member(slot int64) coordination.Member {
	return coordination.Member{Slot: fmt.Sprintf("js-w-%d-0", slot), Pod: fmt.Sprintf("0d9fa3a5-6c7a-4a3c-9f0e-%012d", slot), PodBorn: 1}
}

func (g benchGroup) instance(slot, round int64) coordination.Instance {
	return coordination.Instance{ID: fmt.Sprintf("i-%d-%d", slot, round), Born: round}
}

func (g benchGroup) join(slot, round int64) error {
	j := coordination.Join{Member: g.member(slot), Instance: g.instance(slot, round), Seen: coordination.Unseen()}
	if g.together {
		j.GoneFor = 1
	}
	_, err := g.store.Join(context.Background(), uid, j)
	return err
}

func (g benchGroup) down(slot, round int64) error {
	d := coordination.Down{
		Member: g.member(slot), Instance: g.instance(slot, round), ExitCode: 1, Ordered: true, Seen: coordination.Unseen(),
	}
	_, err := g.store.Down(context.Background(), uid, d)
	return err
}

// microseconds is the server's own time for one call of a command.
func (s *server) microseconds(command string) float64 {
	s.t.Helper()
	info := s.admin.Info(context.Background(), "commandstats").Val()
	_, rest, _ := strings.Cut(info, "cmdstat_"+command+":")
	_, rest, _ = strings.Cut(rest, "usec_per_call=")
	number, _, _ := strings.Cut(rest, ",")
	us, err := strconv.ParseFloat(number, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return us
}

// cpu is the processor time that the server has used, in seconds: other than the time of a call it holds on a busy machine.
func (s *server) cpu() float64 {
	s.t.Helper()
	return s.info("cpu", "used_cpu_user") + s.info("cpu", "used_cpu_sys")
}

// info is a number that the server tells of itself.
func (s *server) info(section, field string) float64 {
	s.t.Helper()
	_, rest, _ := strings.Cut("\n"+s.admin.Info(context.Background(), section).Val(), "\n"+field+":")
	text, _, _ := strings.Cut(rest, "\r")
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.t.Fatalf("%s of %s: %v", field, section, err)
	}
	return number
}
