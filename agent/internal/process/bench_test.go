package process

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// BenchmarkStartAndEnd runs a small program and ends it, including all scans for remaining processes.
func BenchmarkStartAndEnd(b *testing.B) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		b.Fatal(err)
	}
	var start, end time.Duration
	for b.Loop() {
		begun := time.Now()
		c, err := Start(Spec{Path: sleep, Args: []string{"sleep", "60"}})
		if err != nil {
			b.Fatal(err)
		}
		started := time.Now()
		if err := c.End(syscall.SIGTERM, 0); err != nil {
			b.Fatal(err)
		}
		start += started.Sub(begun)
		end += time.Since(started)
	}
	b.ReportMetric(float64(start.Microseconds())/float64(b.N), "us-start")
	b.ReportMetric(float64(end.Microseconds())/float64(b.N), "us-end")
}

// BenchmarkDetection measures the time from killing a process until its exit is detected.
func BenchmarkDetection(b *testing.B) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		b.Fatal(err)
	}
	var took time.Duration
	for b.Loop() {
		c, err := Start(Spec{Path: sleep, Args: []string{"sleep", "60"}})
		if err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		c.Signal(syscall.SIGKILL)
		took += c.Exit().At.Sub(begun)
		if err := c.End(syscall.SIGTERM, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N), "us-detected")
}
