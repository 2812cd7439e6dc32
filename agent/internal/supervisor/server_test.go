package supervisor

import (
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/agent/internal/store"
	"github.com/holdfast-project/holdfast/agent/internal/testing/workers"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// onServer gives each pod its own connections to a server.
func (g *group) onServer(t testing.TB, address string) *group {
	g.connect = func() rounds.Members {
		s, err := store.Open(config.Store{Address: address}, "holdfast-exec")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	return g
}

func TestGroupOnARealServer(t *testing.T) {
	const size = 5
	address := workers.Redis(t)
	leader := workers.LeaderStore(t, address)
	g := newGroup(t, leader, size, "trains").onServer(t, address)
	g.open(limit)
	g.start()
	pids := g.recorder.Await(size, "started", "0")
	for d, victims := range [][]int{{0}, {1, 2, 3}, {0, 1, 2, 3, 4}} {
		for _, v := range victims {
			_ = syscall.Kill(pids[fmt.Sprint("js-w-0-", v)], syscall.SIGKILL) // the supervisor may already have ended it
		}
		pids = g.recorder.Await(size, "started", fmt.Sprint(d+1))
	}
	finish(t, pids, "js-w-0-4")
	eventually(t, "one has finished", func() bool { return g.summary().Done == 1 })
	kill(t, pids["js-w-0-0"], syscall.SIGKILL)
	pids = g.recorder.Await(size, "started", "4")
	finish(t, pids, "js-w-0-0", "js-w-0-1", "js-w-0-2", "js-w-0-3", "js-w-0-4")
	for i, p := range g.pods {
		if code := p.exit(); code != 0 {
			t.Errorf("pod%d exits %d", i, code)
		}
	}
}

// crowd is a group whose workers are small programs. The supervisors notify it when they start one.
type crowd struct {
	*group
	mu   sync.Mutex
	pids map[string]int
	up   chan time.Time
}

func newCrowd(b *testing.B, size int) *crowd {
	address := workers.Redis(b)
	c := &crowd{group: newGroup(b, workers.LeaderStore(b, address), size, ""), pids: map[string]int{}, up: make(chan time.Time, size)}
	c.onServer(b, address)
	c.open(1 << 40)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range c.pods {
		p.config.MaxStops = 1 << 30
		p.config.LogLevel = slog.LevelError
		p.program = &process.Spec{Path: sleep, Args: []string{"sleep", "600"}}
		p.run = func(s process.Spec) (*process.Child, error) {
			child, err := process.Start(s)
			if err == nil {
				c.mu.Lock()
				c.pids[p.config.WorkerID] = child.PID()
				c.mu.Unlock()
				c.up <- time.Now()
			}
			return child, err
		}
	}
	c.start()
	return c
}

// allUp waits until every pod has started its worker again, and returns the time of the last start.
func (c *crowd) allUp() (last time.Time) {
	for range c.pods {
		last = <-c.up
	}
	return last
}

// BenchmarkRestart kills one worker and measures the time until all programs are running again. All supervisors share
// this process and the machine's CPUs, and each of them scans all processes on the machine.
func BenchmarkRestart(b *testing.B) {
	for _, size := range []int{8, 32, 100} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c := newCrowd(b, size)
			c.allUp()
			var took []time.Duration
			for b.Loop() {
				c.mu.Lock()
				victim := c.pids["js-w-0-0"]
				c.mu.Unlock()
				begun := time.Now()
				kill(b, victim, syscall.SIGKILL)
				took = append(took, c.allUp().Sub(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-worst")
		})
	}
}
