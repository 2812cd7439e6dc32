package member

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// sees is a look that finds instance a at work, with so many signs of progress.
func sees(after time.Duration, signs uint64) moment {
	a := Worker{Instance: coordination.Instance{ID: "a", Born: 10}, Running: true, Progress: signs}
	return at(after, Observed{PodBorn: 5, Workers: []Worker{a}})
}

// killed is a look that finds it killed.
func killed(after time.Duration) moment {
	a := Worker{Instance: coordination.Instance{ID: "a", Born: 10}, ExitCode: 137, Signal: 9, FinishedAt: 1}
	return at(after, Observed{PodBorn: 5, Workers: []Worker{a}})
}

// TestHangs asks for progress every 8 s, which is looked for each second, and begins with a worker that runs.
func TestHangs(t *testing.T) {
	running := []moment{look(), look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2")}
	const lifted = `save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.0 x1 holds running  lift a 1.0  look `
	const looks8 = `look look look look look look look look `
	silence := func(seconds int, signs uint64) (list []moment) {
		for range seconds {
			list = append(list, tick(time.Second), sees(0, signs))
		}
		return list
	}
	play8 := func(parts ...[]moment) (all []moment) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	one := func(m ...moment) []moment { return m }
	cases := map[string]struct {
		progress Progress
		moments  []moment
		want     string
	}{
		"one that gets on is left alone": {Progress{Timeout: 8 * time.Second},
			play8(running, one(sees(0, 0)), silence(7, 1), silence(7, 2), silence(7, 3)),
			lifted + looks8 + looks8 + `look look look look look`},
		"one that stops getting on is killed at once, and its death is a failure": {Progress{Timeout: 8 * time.Second},
			play8(running, one(sees(0, 1)), silence(8, 1), one(killed(50*time.Millisecond))),
			lifted + looks8 + `stop a 0s hung  begin  down a code=137 ordered=false hang/8s/9 silent from 1000000 to 1008000`},
		"the clock starts with the first sign": {Progress{Timeout: 8 * time.Second},
			play8(running, one(sees(0, 0)), silence(20, 0)), lifted + looks8 + looks8 + `look look look look`},
		"unless the start has a time of its own": {Progress{Timeout: 8 * time.Second, Start: 16 * time.Second},
			play8(running, one(sees(0, 0)), silence(16, 0)), lifted + looks8 + looks8 + `stop a 0s hung`},
		"a node that was frozen has not been silent": {Progress{Timeout: 8 * time.Second},
			play8(running, one(sees(0, 1)), one(tick(time.Hour), sees(0, 1)), silence(6, 1), one(sees(0, 2))),
			lifted + `look look look look look look look`},
		"before a look has confirmed it nobody is killed": {Progress{Timeout: 8 * time.Second},
			play8(running, one(sees(0, 1), tick(8*time.Second), tick(0))), lifted + `look look`},
		"without a wish nobody looks": {Progress{},
			play8(running, one(sees(0, 1)), silence(100, 1)), `save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.0 x1 holds running  lift a 1.0`},
		"one that waits at the barrier does not hang": {Progress{Timeout: 8 * time.Second, Start: 8 * time.Second},
			play8(running[:3], silence(20, 0)), `save unseen begin  join a unseen  save a 1.0 x1 holds`},
		"a kill that fails is tried again": {Progress{Timeout: 8 * time.Second},
			play8(running, one(sees(0, 1)), silence(8, 1), one(at(0, StopEnded{ID: "a", Err: errAway}), tick(2*time.Second))),
			lifted + looks8 + `stop a 0s hung  stop a 0s hung`},
		"a peer that has been silent for half of its time is not asked to save": {Progress{Timeout: 8 * time.Second},
			play8(running, one(sees(0, 1)), silence(4, 1), one(cast("A/0 1.1 Restarting #3"))),
			lifted + `look look look look save a 1.0 x1 holds running  stop a 0s stuck`},
		"a peer that gets on is": {Progress{Timeout: 8 * time.Second},
			play8(running, one(sees(0, 1)), silence(3, 1), one(cast("A/0 1.1 Restarting #3"))),
			lifted + `look look look save a 1.0 x1 holds running  stop a 10s`},
		"one that finishes in the moment in which it is killed has finished": {Progress{Timeout: 8 * time.Second},
			play8(running, one(sees(0, 1)), silence(8, 1), one(look("a@10=0"))),
			lifted + looks8 + `stop a 0s hung  save a 1.0 x1 holds running  down a code=0 ordered=false`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := New(Config{
				Slot: "js-w-0-0", Pod: "pod", Grace: 10 * time.Second, Barrier: true, Random: func() float64 { return 1 }, Progress: tc.progress,
			}, Fresh())
			compare(t, play(s, false, tc.moments...), tc.want)
		})
	}
}

func TestAWorkerThatHasWaitedTellsOnceHowLongItHasRun(t *testing.T) {
	s := atBarrier(Fresh())
	began := func(after time.Duration) moment {
		a := Worker{Instance: coordination.Instance{ID: "a", Born: 10}, Running: true, StartedAt: start.UnixMilli() + 5}
		return at(after, Observed{PodBorn: 5, Workers: []Worker{a}})
	}
	compare(t, play(s, false, look(), look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2"),
		began(10*time.Millisecond), tick(500*time.Millisecond), tick(500*time.Millisecond), fails(errAway), tick(time.Second),
		reply(0, "A/0 1.0 Running #2"), began(0), tick(time.Hour)),
		`save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.0 x1 holds running  lift a 1.0
		join a 1.0 x1 holds running for=1005  join a 1.0 x1 holds running for=2005`)
}
