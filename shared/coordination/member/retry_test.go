package member

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

func TestEachTroubleIsToldOnceUntilItChanges(t *testing.T) {
	cases := map[string]struct {
		errors []error
		want   int
	}{
		"the same trouble in different words":  {[]error{errAway, errors.New("i/o timeout"), errAway}, 1},
		"trouble that changes":                 {[]error{errAway, coordination.ErrUnknownSlot, errAway}, 3},
		"an unknown slot that stays unknown":   {[]error{coordination.ErrUnknownSlot, fmt.Errorf("%w: x", coordination.ErrUnknownSlot)}, 1},
		"a foreign value that becomes another": {[]error{&coordination.ForeignValueError{Value: "x"}, &coordination.ForeignValueError{Value: "y"}}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, got := newState(remembered), 0
			play(s, false, look("a@10"))
			for _, err := range tc.errors {
				for _, line := range play(s, true, fails(err), tick(time.Hour)) {
					if len(line) > 3 && line[:3] == "log" {
						got++
					}
				}
			}
			if got != tc.want {
				t.Errorf("%d lines, want %d", got, tc.want)
			}
		})
	}
}

func TestNextTick(t *testing.T) {
	cases := map[string]struct {
		moments []moment
		want    time.Duration // from the last moment; 0: none
	}{
		"nothing is pending":                     {[]moment{look("a@10"), reply(1, "A/0 1.1 Running #5")}, 0},
		"a call is in flight":                    {[]moment{look("a@10")}, 0},
		"a call failed":                          {[]moment{look("a@10"), fails(errAway)}, firstRetry},
		"a call failed twice":                    {[]moment{look("a@10"), fails(errAway), tick(time.Minute), fails(errAway)}, 2 * firstRetry},
		"there is no group":                      {[]moment{look("a@10"), fails(coordination.ErrNoGroup)}, slowRetry},
		"a join brought no round":                {[]moment{look("a@10"), reply(-1, "A/0 1.1 Forming #5")}, lastRetry},
		"a worker is being stopped":              {[]moment{look("a@10"), reply(1, "A/0 1.2 Restarting #5")}, 40 * time.Second},
		"a stop failed":                          {[]moment{look("a@10"), reply(1, "A/0 1.2 Restarting #5"), at(0, StopEnded{ID: "a", Err: errAway})}, stopRetry},
		"a fenced agent has nothing to wait for": {[]moment{look("a@10"), fails(coordination.ErrFenced)}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newState(remembered)
			play(s, false, tc.moments...)
			var now time.Duration
			for _, m := range tc.moments {
				now += m.after
			}
			next, ok := s.NextTick()
			if got := next.Sub(start.Add(now)); ok != (tc.want > 0) || (ok && got != tc.want) {
				t.Errorf("next tick %v in %v, want %v", ok, got, tc.want)
			}
		})
	}
}

// A log that says of a worker that it runs on, though nothing runs, sends whoever reads it the wrong way.
func TestTheLogSaysWhatTheWorkerDoesWhileTheStoreIsAway(t *testing.T) {
	formed := []moment{look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2")}
	for name, tc := range map[string]struct {
		state   *State
		moments []moment
		want    string
	}{
		"a sidecar's worker runs on":                {newState(Fresh()), []moment{look("a@10"), fails(errAway)}, "the worker runs on"},
		"a sidecar without a worker has none":       {newState(Fresh()), []moment{look(), lost(errAway)}, "no worker runs"},
		"at the barrier nothing runs":               {atBarrier(Fresh()), []moment{look("a@10"), fails(errAway)}, "the worker is not started before the group is complete"},
		"once it was let run it runs on":            {atBarrier(Fresh()), append(formed, lost(errAway)), "the worker runs on"},
		"what waits for the next round was stopped": {atBarrier(Fresh()), append(formed, look("a@10=1"), lost(errAway)), "no worker runs"},
		"a finished worker is held":                 {atBarrier(Fresh()), append(formed, look("a@10=0"), lost(errAway)), "the finished worker is held"},
	} {
		t.Run(name, func(t *testing.T) {
			want := "log the store is unreachable: " + tc.want + ", reports wait error=" + errAway.Error()
			if lines := play(tc.state, true, tc.moments...); !slices.Contains(lines, want) {
				t.Errorf("%q is not among\n%s", want, strings.Join(lines, "\n"))
			}
		})
	}
}
