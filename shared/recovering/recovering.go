// Package recovering is the annotation by which a program that is recovering something says so on the object it owns, so
// that one fault is answered once: programs on higher rungs of the ladder wait until the annotation is gone or its
// deadline has passed. It can be read from metadata alone, and it is pure.
package recovering

import (
	"encoding/json"
	"fmt"
	"time"
)

// Annotation is the key, with a State as its value.
const Annotation = "holdfast.dev/recovering"

// Rungs of the ladder, from the cheapest recovery up.
const (
	RungContainer = 1 // one container, in its pod
	RungGroup     = 2 // all workers of a group, in their pods
	RungRecreate  = 3 // all pods
	maxRung       = 99
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

// Holds tells whether a program on the given rung has to wait at `now` because of an object's annotations. What cannot be
// read holds nobody up.
func Holds(annotations map[string]string, rung int, now time.Time) bool {
	value, found := annotations[Annotation]
	if !found {
		return false
	}
	s, err := Parse(value)
	return err == nil && s.Rung < rung && now.Before(s.Deadline)
}

func invalid(value, problem string) error {
	return fmt.Errorf("annotation %s has the invalid value %.200q: %s", Annotation, value, problem)
}
