package timeline

import (
	"testing"
	"time"
)

// A recovery without a measured duration does not count as zero.
func TestLossesOfUnknownDuration(t *testing.T) {
	at := func(d time.Duration, change ...func(*Entry)) Entry {
		e := Entry{At: after(d), Level: 3, What: Replaced}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	took := func(d time.Duration) func(*Entry) { return func(e *Entry) { e.Took = d } }
	for name, tc := range map[string]struct {
		list     []Entry
		notTimed int
		text     string
	}{
		"nothing was lost":               {nil, 0, "0ms"},
		"all recoveries are timed":       {[]Entry{at(0, took(81*time.Millisecond))}, 0, "81ms"},
		"no recovery is timed":           {[]Entry{at(0), at(time.Minute)}, 2, "-"},
		"some recoveries are timed":      {[]Entry{at(0, took(81*time.Millisecond)), at(time.Minute), at(time.Hour)}, 2, "at least 81ms, 2 not timed"},
		"a part of a recovery":           {[]Entry{at(0, took(time.Minute)), at(30 * time.Second), at(-time.Second)}, 0, "60.0s"},
		"a recovery that has just begun": {[]Entry{at(0, func(e *Entry) { e.Ongoing = true })}, 0, "0ms"},
		"a step of a recovery":           {[]Entry{at(0, func(e *Entry) { e.What = Repair })}, 0, "0ms"},
		"a start is not a recovery":      {[]Entry{at(0, func(e *Entry) { e.Level, e.What = 0, Started })}, 0, "0ms"},
		"a warning without a recovery":   {[]Entry{at(0, func(e *Entry) { e.Level, e.What = 0, Noted })}, 0, "0ms"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Lost(tc.list)
			if got.NotTimed != tc.notTimed || got.String() != tc.text {
				t.Errorf("%d recoveries are not timed, %q; want %d, %q", got.NotTimed, got, tc.notTimed, tc.text)
			}
		})
	}
}

// Neither the status of an ElasticJob nor the rescheduler's failure history contains durations.
func TestHistoriesWithoutDurations(t *testing.T) {
	for name, tc := range map[string]struct {
		of   Workload
		want int
	}{
		"workers of an ElasticJob": {Workload{Objects: elasticStory().Objects}, 2},
		"an avoided node":          {Workload{Objects: movedStory().Objects[:1]}, 1},
		"restarts of a JobSet":     {Workload{Objects: ladderStory().Objects[1:]}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Lost(Of(tc.of, after(12*time.Minute))); got.NotTimed != tc.want {
				t.Errorf("%+v, want %d recoveries that are not timed", got, tc.want)
			}
		})
	}
}
