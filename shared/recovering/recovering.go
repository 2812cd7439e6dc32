// Package recovering is how a program says that it is recovering something, on the object it owns, so that one fault is
// answered once: an annotation, which can be read from metadata alone, and beside it a condition where the kind has any.
//
//	            sets            waits                      ends it
//	own rung    Place, once     -                          Release, when all runs again or the rung has failed
//	lower rung  -               Until: it is under way     -
//	higher rung takes it over   Until, then acts           Place of its own; or the deadline, whoever has died
//
// Nobody has to be asked: a program that is not installed sets nothing, and what cannot be read holds nobody up. It is pure.
package recovering

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	// Annotation is the key, with a State as its value.
	Annotation = "holdfast.dev/recovering"
	// Condition is the type of the condition that is True while the annotation is there.
	Condition = "Recovering"
	// Maximum is how far ahead a deadline may be. One that is further is not believed: anybody who writes the object, or the template
	// that it was made from, could hold others up for ever with it. Readers may clip it further.
	Maximum = 24 * time.Hour
)

// Rungs of the ladder, from the cheapest recovery up.
const (
	RungProcess  = 1 // every worker process of a group, inside its container
	RungGroup    = 2 // every worker container of a group, in its pod
	RungElastic  = 3 // goes on with fewer workers
	RungMove     = 4 // a pod is moved to another node
	RungRecreate = 5 // all Jobs of a group
	RungReset    = 6 // the whole workload
	maxRung      = 99
)

// State says what is going on.
type State struct {
	Rung     int
	Reason   string // for people
	Deadline time.Time
}

// wire is State as the annotation holds it: times in RFC 3339 with whole seconds.
type wire struct {
	Rung     int    `json:"rung"`
	Reason   string `json:"reason"`
	Deadline string `json:"deadline"`
}

// holds reports whether others have to believe it at `now`.
func (s State) holds(now time.Time) bool { return s.Live(now) && !s.Deadline.After(now.Add(Maximum)) }

// Format is the value of the annotation. The deadline is rounded up to a whole second.
func (s State) Format() string {
	deadline := s.Deadline.UTC().Truncate(time.Second)
	if deadline.Before(s.Deadline) {
		deadline = deadline.Add(time.Second)
	}
	value, err := json.Marshal(wire{s.Rung, s.Reason, deadline.Format(time.RFC3339)})
	if err != nil {
		panic(err) // a number and two strings always marshal
	}
	return string(value)
}

// Parse reads the value of the annotation. Unknown fields are left to later versions.
func Parse(value string) (State, error) {
	var w wire
	if err := json.Unmarshal([]byte(value), &w); err != nil {
		return State{}, invalid(value, err.Error())
	}
	deadline, err := time.Parse(time.RFC3339, w.Deadline)
	switch {
	case err != nil:
		return State{}, invalid(value, fmt.Sprintf("deadline %q is not RFC 3339, such as 2026-01-02T15:04:05Z", w.Deadline))
	case w.Rung < 1 || w.Rung > maxRung:
		return State{}, invalid(value, fmt.Sprintf("rung %d is not between 1 and %d", w.Rung, maxRung))
	}
	return State{w.Rung, w.Reason, deadline}, nil
}

// Of reads the annotations of an object: whether it says something that can be read, be it out of date or not.
func Of(annotations map[string]string) (State, bool) {
	value, found := annotations[Annotation]
	if !found {
		return State{}, false
	}
	s, err := Parse(value)
	return s, err == nil
}

// Live tells whether the recovery still holds others up at `now`.
func (s State) Live(now time.Time) bool { return now.Before(s.Deadline) }

// Until is the moment until which a program on the given rung leaves a workload alone: the latest deadline of any other rung that is
// at work on one of its objects, from the pod's controller up to the root. A lower rung has the fault in hand; a higher one
// replaces what this one would repair. Zero: nobody is at work.
func Until(rung int, now time.Time, objects ...map[string]string) time.Time {
	var until time.Time
	for _, annotations := range objects {
		s, found := Of(annotations)
		if found && s.Rung != rung && s.holds(now) && s.Deadline.After(until) {
			until = s.Deadline
		}
	}
	return until
}

// Place is the value with which a program says that it begins, or goes on: false if there is nothing to write, because the same is
// written already, or because a higher rung is at work and this one is part of what that replaces. What a lower rung has said is
// overwritten: it has had its time.
func Place(annotations map[string]string, s State, now time.Time) (value string, write bool) {
	old, found := Of(annotations)
	if found && old.Rung > s.Rung && old.holds(now) {
		return "", false
	}
	value = s.Format()
	return value, annotations[Annotation] != value
}

// Release tells whether a program on one of the rungs has to take the annotation away now that it is done. That of another rung stays.
func Release(annotations map[string]string, rungs ...int) bool {
	s, found := Of(annotations)
	for _, rung := range rungs {
		if found && s.Rung == rung {
			return true
		}
	}
	return false
}

func invalid(value, problem string) error {
	return fmt.Errorf("annotation %s has the invalid value %.200q: %s", Annotation, value, problem)
}
