package timeline

import (
	"fmt"
	"slices"
	"time"
)

// Loss is what recoveries took.
type Loss struct {
	// Time that is known, overlaps counted once.
	Time time.Duration
	// NotTimed is how many recoveries took a time that nobody has written down, so that more was lost than Time.
	NotTimed int
}

// Lost is what a timeline's recoveries have taken.
func Lost(list []Entry) Loss {
	var loss Loss
	var spans [][2]time.Time
	for _, e := range list {
		if e.Recovery() && e.Took > 0 {
			spans = append(spans, [2]time.Time{e.At, e.At.Add(e.Took)})
		}
	}
	slices.SortFunc(spans, func(a, b [2]time.Time) int { return a[0].Compare(b[0]) })
	var end time.Time
	for _, span := range spans {
		from := span[0]
		if from.Before(end) {
			from = end
		}
		if span[1].After(from) {
			loss.Time += span[1].Sub(from)
			end = span[1]
		}
	}
	for _, e := range list {
		if e.Recovery() && e.Took == 0 && !e.Ongoing && !within(e.At, spans) {
			loss.NotTimed++
		}
	}
	return loss
}

// within one of the spans, as far as clocks agree: what was answered then is a part of a recovery whose time is known.
func within(at time.Time, spans [][2]time.Time) bool {
	return slices.ContainsFunc(spans, func(span [2]time.Time) bool {
		return !at.Before(span[0].Add(-sameMoment)) && !at.After(span[1].Add(sameMoment))
	})
}

// Recovery tells whether the entry is one, and not a step of one or something else that happened.
func (e Entry) Recovery() bool { return e.Rung > 0 && e.What != Repair }

// String is a loss as people read it.
func (l Loss) String() string {
	switch {
	case l.NotTimed == 0:
		return Duration(l.Time)
	case l.Time == 0:
		return nothing
	}
	return fmt.Sprintf("at least %s, %d not timed", Duration(l.Time), l.NotTimed)
}
