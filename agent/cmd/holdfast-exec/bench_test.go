package main

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRestart kills one worker of a group of containers, each the PID 1 of a namespace of its own (root): from the
// kill to the moment when the last supervisor says that its program is executed anew.
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

// up is when the last of the next starts was, and how long each took.
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
