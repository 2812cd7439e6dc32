package main

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRestart kills one worker of a group and measures the time until every supervisor has started its program
// again. Each container is PID 1 of its own PID namespace, which requires root.
func BenchmarkRestart(b *testing.B) {
	if os.Getuid() != 0 {
		b.Skip("PID namespaces need root")
	}
	for _, size := range []int{1, 8, 32, 100} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			g := newGroup(b, int64(size))
			var all []*container
			for i := range size {
				s := g.worker(i, "")
				s.isolated, s.args = true, []string{"--max-stops-per-minute=1000000", "--", "sleep", "600"}
				all = append(all, launch(b, s))
			}
			up(all)
			var took, starts []time.Duration
			for b.Loop() {
				victim := childOf(b, all[0].command.Process.Pid)
				begun := time.Now()
				if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
					b.Fatal(err)
				}
				last, each := up(all)
				took, starts = append(took, last.Sub(begun)), append(starts, each...)
			}
			slices.Sort(took)
			slices.Sort(starts)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-worst")
			b.ReportMetric(float64(starts[len(starts)/2].Microseconds())/1000, "ms-lift-to-start")
		})
	}
}

// up waits for every container to start its worker again. It returns the time of the last start, and how long each
// start took once the barrier was lifted.
func up(all []*container) (last time.Time, took []time.Duration) {
	for _, c := range all {
		s := <-c.starts
		took = append(took, s.took)
		if s.at.After(last) {
			last = s.at
		}
	}
	return last, took
}
