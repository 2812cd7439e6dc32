package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestClockKeepsTheOrder(t *testing.T) {
	var c clock
	var got []string
	plan := func(d time.Duration, name string) { c.in(d, func() { got = append(got, name) }) }
	plan(2*time.Second, "c")
	plan(time.Second, "a")
	plan(time.Second, "b")
	plan(time.Minute, "late")
	c.in(2*time.Second, func() { plan(0, "d") })
	for c.step(10 * time.Second) {
	}
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) || c.now != 10*time.Second {
		t.Errorf("got %v at %s, want %v", got, c.now, want)
	}
}

func TestCrashLoopBackOff(t *testing.T) {
	var c crashLoop
	now := time.Hour
	for i, want := range []time.Duration{0, 10, 20, 40, 80, 160, 300, 300} {
		wait := c.wait(now)
		if wait != want*time.Second {
			t.Errorf("restart %d waits %s, want %s", i, wait, want*time.Second)
		}
		now += wait
		c.grant(now, wait)
	}
	if wait := c.wait(now + quietPeriod + time.Second); wait != 0 {
		t.Errorf("after ten quiet minutes, a restart waits %s", wait)
	}
	c.grant(now+quietPeriod+time.Second, 0)
	if wait := c.wait(now + quietPeriod + time.Minute); wait != firstBackoff {
		t.Errorf("the restart after that waits %s", wait)
	}
}

func TestJobBackoff(t *testing.T) {
	want := []time.Duration{0, 10, 20, 40, 80, 160, 320, 600, 600}
	for failures, seconds := range want {
		if got := jobBackoff(failures); got != seconds*time.Second {
			t.Errorf("after %d failures: %s, want %s", failures, got, seconds*time.Second)
		}
	}
}

// The mutant breaks the handling of deaths while a round is restarting, so at least one worker must die in such a round.
func TestShrinkFindsTheRequiredFaults(t *testing.T) {
	mutant := dirtyForgets
	shape := shape("shrink", workers(CRI, 1, 3), everything(), 6)
	for seed := range uint64(500) {
		r := Run(seed, shape, mutant)
		if r.Breach == nil || len(r.Faults) < 5 {
			continue
		}
		small := Shrink(r, mutant)
		if small.Breach == nil || small.Breach.Invariant != r.Breach.Invariant || len(small.Faults) > 3 {
			t.Errorf("seed %d: %d of %d faults remain: %v", seed, len(small.Faults), len(r.Faults), small.Breach)
		}
		if report := small.Report(); !strings.Contains(report, "BROKEN") || !strings.Contains(report, "FAULT") {
			t.Errorf("the report has no transcript of the breach:\n%s", report)
		}
		return
	}
	t.Error("no history with at least five faults breaks an invariant")
}
