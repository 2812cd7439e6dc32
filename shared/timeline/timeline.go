// Package timeline merges what all programs have recorded about a workload into one list, oldest first. Each recovery appears once, with
// its level, cause, duration and count. Because events expire after an hour, histories take precedence: the restart history of a group,
// the attempts of an AppWrapper, the workers of an ElasticJob, and the state of the rescheduler. Events add what no history contains. The
// package is pure; the caller reads and decodes the objects.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Entry is an event in the life of a workload.
type Entry struct {
	At time.Time `json:"at"`
	// Level is the recovery level, 1 to 6; 0 if nothing was recovered, as when a workload starts or fails.
	Level  int    `json:"level,omitempty"`
	Object string `json:"object"` // kind and name of the source object
	What   What   `json:"what"`
	Cause  string `json:"cause,omitempty"`
	Worker string `json:"worker,omitempty"`
	Pod    string `json:"pod,omitempty"`
	Node   string `json:"node,omitempty"`
	// Took is the outage in nanoseconds; 0 if unknown or none.
	Took time.Duration `json:"tookNanoseconds,omitempty"`
	// Ongoing means that the recovery has not ended. Took is then the time so far.
	Ongoing bool `json:"ongoing,omitempty"`
	// Count and Limit are the entry's position in a budget: use number Count of at most Limit. A Count of 0 means not counted. A Limit of -1 means
	// that there is no limit or it is unknown.
	Count int32 `json:"count,omitempty"`
	Limit int32 `json:"limit,omitempty"`
	// Result is how the recovery ended; empty if all workers are running again.
	Result string `json:"result,omitempty"`
}

// What is the type of an entry.
type What string

const (
	Started    What = "started"
	InPlace    What = "restart in place"
	Repair     What = "repair" // a step of a restart: one pod or Job
	Replaced   What = "worker replaced"
	Moved      What = "node avoided"
	Recreation What = "recreation"
	Reset      What = "reset"
	Evacuation What = "evacuation"
	Suspended  What = "suspended"
	Finished   What = "finished"
	Failed     What = "failed"
	Noted      What = "noted" // a warning, not a recovery
)

// Workload contains the objects of a workload, the root first, and the events about them and their pods.
type Workload struct {
	Objects []Object
	Events  []Event
}

// Of returns the timeline of a workload at the time now, oldest first. Simultaneous entries are ordered by level.
func Of(w Workload, now time.Time) []Entry {
	var list []Entry
	for _, o := range w.Objects {
		list = append(list, ofObject(o, now)...)
	}
	list = append(list, ofEvents(w, list)...)
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Or(a.order().Compare(b.order()), cmp.Compare(a.Level, b.Level), cmp.Compare(a.Object, b.Object))
	})
	return list
}

// Object is an object of the workload. Fields for other kinds are nil.
type Object struct {
	Kind, Name  string
	Annotations map[string]string
	Created     time.Time
	Conditions  []Condition

	Group      *Group
	AppWrapper *AppWrapper
	ElasticJob *ElasticJob
}

func (o Object) String() string { return o.Kind + " " + o.Name }

// Condition is a condition of an object.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"lastTransitionTime"`
}

// Condition returns the condition of the given type, or nil if there is none.
func (o Object) Condition(kind string) *Condition {
	for i := range o.Conditions {
		if o.Conditions[i].Type == kind {
			return &o.Conditions[i]
		}
	}
	return nil
}

// True returns the first condition of the given types that is true, or nil if there is none.
func (o Object) True(kinds ...string) *Condition {
	for _, kind := range kinds {
		if c := o.Condition(kind); c != nil && c.True() {
			return c
		}
	}
	return nil
}

// True reports whether the condition is true.
func (c Condition) True() bool { return c.Status == "True" }

func ofObject(o Object, now time.Time) []Entry {
	var list []Entry
	switch {
	case o.Group != nil:
		list = ofGroup(o)
	case o.AppWrapper != nil:
		list = ofAppWrapper(o, now)
	case o.ElasticJob != nil:
		list = ofElasticJob(o)
	}
	list = append(list, ofMemory(o)...)
	return append(list, ofRecovering(o, list, now)...)
}

// order returns the time by which the entry is sorted. Times in a status are in whole seconds, so a reset or the end of the workload is sorted
// last within its second.
func (e Entry) order() time.Time {
	switch e.What {
	case Reset, Evacuation, Finished, Failed:
		if e.At.Nanosecond() == 0 {
			return e.At.Add(time.Second - time.Nanosecond)
		}
	}
	return e.At
}

// Loss is the time lost by recoveries.
type Loss struct {
	// Time is the lost time in nanoseconds. Overlapping recoveries are counted once.
	Time time.Duration `json:"lostNanoseconds"`
	// NotTimed is the number of recoveries of unknown duration. If it is not 0, more than Time was lost.
	NotTimed int `json:"notTimed,omitempty"`
}

// Lost returns the time lost by the recoveries of a timeline.
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

// within reports whether a time is in one of the spans, allowing for clock differences. An entry at such a time belongs to a
// recovery of known duration.
func within(at time.Time, spans [][2]time.Time) bool {
	return slices.ContainsFunc(spans, func(span [2]time.Time) bool {
		return !at.Before(span[0].Add(-sameMoment)) && !at.After(span[1].Add(sameMoment))
	})
}

// Recovery reports whether the entry is a whole recovery and not only a step of one.
func (e Entry) Recovery() bool { return e.Level > 0 && e.What != Repair }

// String returns the loss as text.
func (l Loss) String() string {
	switch {
	case l.NotTimed == 0:
		return Duration(l.Time)
	case l.Time == 0:
		return nothing
	}
	return fmt.Sprintf("at least %s, %d not timed", Duration(l.Time), l.NotTimed)
}
