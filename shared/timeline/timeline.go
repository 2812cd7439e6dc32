// Package timeline puts together what happened to a workload across programs, oldest first: each recovery once, with its rung of the
// ladder, its cause, how long it took and what it was counted as. It takes histories first (the restart history of a JobSet, the
// attempts of an AppWrapper, the workers of an ElasticJob, the memory of the rescheduler), because events are gone after an hour, and
// from events what no history has. It is pure: whoever has read the objects gives them decoded.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Entry is one thing that happened.
type Entry struct {
	At time.Time `json:"at"`
	// Rung of the ladder that answered, 1 to 6; 0: nothing was recovered, as when a workload starts or fails.
	Rung   int    `json:"rung,omitempty"`
	Object string `json:"object"` // kind and name of the object that says so
	What   What   `json:"what"`
	Cause  string `json:"cause,omitempty"`
	Worker string `json:"worker,omitempty"`
	Pod    string `json:"pod,omitempty"`
	Node   string `json:"node,omitempty"`
	// Took is the outage, in nanoseconds; 0: not known, or none.
	Took time.Duration `json:"tookNanoseconds,omitempty"`
	// Ongoing: it has not ended. Took is the time so far.
	Ongoing bool `json:"ongoing,omitempty"`
	// Count and Limit: it is the Count-th of at most Limit. Count 0: it is not counted. Limit -1: without limit, or not known.
	Count int32 `json:"count,omitempty"`
	Limit int32 `json:"limit,omitempty"`
	// Result says how it ended, unless all workers run again.
	Result string `json:"result,omitempty"`
}

// What happened.
type What string

// What can happen.
const (
	Started    What = "started"
	InPlace    What = "restart in place"
	Repair     What = "repair" // a step within a restart: a pod or a Job of single workers
	Replaced   What = "worker replaced"
	Moved      What = "node avoided"
	Recreation What = "recreation"
	Reset      What = "reset"
	Evacuation What = "evacuation"
	Suspended  What = "suspended"
	Finished   What = "finished"
	Failed     What = "failed"
	Noted      What = "noted" // a warning that is no recovery
)

// Workload is what is known of one: its objects, the root first, and the events about them and their pods.
type Workload struct {
	Objects []Object
	Events  []Event
}

// Of is the timeline of a workload at `now`, oldest first. What happened at the same moment is in the order of the rungs.
func Of(w Workload, now time.Time) []Entry {
	var list []Entry
	for _, o := range w.Objects {
		list = append(list, ofObject(o, now)...)
	}
	list = append(list, ofEvents(w, list)...)
	joinMoves(list)
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Or(a.order().Compare(b.order()), cmp.Compare(a.Rung, b.Rung), cmp.Compare(a.Object, b.Object))
	})
	return list
}

// Object is one of the workload's. What its kind does not have is nil.
type Object struct {
	Kind, Name  string
	Annotations map[string]string
	Created     time.Time
	Conditions  []Condition

	JobSet     *JobSet
	AppWrapper *AppWrapper
	ElasticJob *ElasticJob
}

func (o Object) String() string { return o.Kind + " " + o.Name }

// Condition is one of an object's.
type Condition struct {
	Type            string
	True            bool
	Reason, Message string
	Since           time.Time
}

func (o Object) condition(kind string) (Condition, bool) {
	i := slices.IndexFunc(o.Conditions, func(c Condition) bool { return c.Type == kind && c.True })
	if i < 0 {
		return Condition{}, false
	}
	return o.Conditions[i], true
}

func ofObject(o Object, now time.Time) []Entry {
	var list []Entry
	switch {
	case o.JobSet != nil:
		list = ofJobSet(o)
	case o.AppWrapper != nil:
		list = ofAppWrapper(o, now)
	case o.ElasticJob != nil:
		list = ofElasticJob(o)
	}
	list = append(list, ofMemory(o)...)
	return append(list, ofMark(o, list, now)...)
}

// order is the moment by which an entry is sorted. The status of an object knows seconds only; what answered or ended something there did
// so after whatever else is told of that second.
func (e Entry) order() time.Time {
	switch e.What {
	case Reset, Evacuation, Finished, Failed:
		if e.At.Nanosecond() == 0 {
			return e.At.Add(time.Second - time.Nanosecond)
		}
	}
	return e.At
}

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
