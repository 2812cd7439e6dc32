// Package recovering defines the annotation by which a program announces, on the object that it manages, that it is recovering the workload. As
// a result, each fault is handled only once. Kinds with conditions also have a condition.
//
//	program at        what it does with the annotation
//	the same level    sets it with Place, and removes it (Release) once all workers are running or the level has failed
//	a lower level     waits, as long as Until says
//	a higher level    waits, as long as Until says, and then takes over by overwriting it with Place
//
// A program that is not installed does not set the annotation, and an annotation that is invalid or past its deadline does not
// block any program. The package is pure.
package recovering

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

const (
	// Annotation is the key of the annotation. Its value is a State.
	Annotation = "holdfast.dev/recovering"
	// Condition is the type of the condition that is True while the annotation exists.
	Condition = "Recovering"
	// Maximum is how far in the future a deadline may be. Without a limit, anyone who can write the object could block others
	// forever. Readers may use a lower limit.
	Maximum = 24 * time.Hour
)

// Recovery levels, cheapest first.
const (
	LevelProcess  = 1 // restarts all worker processes of a group, inside their containers
	LevelGroup    = 2 // restarts all worker containers of a group, in their pods
	LevelElastic  = 3 // continues with fewer workers
	LevelMove     = 4 // moves a pod to another node
	LevelRecreate = 5 // recreates all Jobs of a group
	LevelReset    = 6 // recreates the whole workload
	maxLevel      = 99
)

// State describes a recovery in progress.
type State struct {
	Level    int       `json:"level"`
	Reason   string    `json:"reason"` // for messages
	Deadline time.Time `json:"deadline"`
}

// holds reports whether others must wait for the recovery.
func (s State) holds(now time.Time) bool { return s.Live(now) && !s.Deadline.After(now.Add(Maximum)) }

// Format returns the value of the annotation. The deadline is rounded up to a whole second.
func (s State) Format() string {
	s.Deadline = s.Deadline.UTC().Add(time.Second - time.Nanosecond).Truncate(time.Second)
	value, _ := json.Marshal(s) // a number, a string and a time before the year 10000 always marshal
	return string(value)
}

// Parse parses the value of the annotation. It ignores unknown fields.
func Parse(value string) (State, error) {
	var s State
	if err := json.Unmarshal([]byte(value), &s); err != nil {
		return State{}, invalid(value, err.Error())
	}
	switch {
	case s.Deadline.IsZero():
		return State{}, invalid(value, "the deadline is missing")
	case s.Level < 1 || s.Level > maxLevel:
		return State{}, invalid(value, fmt.Sprintf("level %d is not between 1 and %d", s.Level, maxLevel))
	}
	return s, nil
}

// Of returns the state from the annotations of an object, and whether there is a valid one. Its deadline may have passed.
func Of(annotations map[string]string) (State, bool) {
	value, found := annotations[Annotation]
	if !found {
		return State{}, false
	}
	s, err := Parse(value)
	return s, err == nil
}

// Live reports whether the deadline is in the future.
func (s State) Live(now time.Time) bool { return now.Before(s.Deadline) }

// Until returns the latest deadline of any other level that is in progress on one of the workload's objects, from the pod's controller up to the
// root. Until then, a program at the given level must leave the workload alone. A lower level is already handling the fault, and a higher level
// replaces what this level would repair. The zero time means that no other level is in progress.
func Until(level int, now time.Time, objects ...map[string]string) time.Time {
	var until time.Time
	for _, annotations := range objects {
		s, found := Of(annotations)
		if found && s.Level != level && s.holds(now) && s.Deadline.After(until) {
			until = s.Deadline
		}
	}
	return until
}

// Place returns the annotation value that announces a recovery. write is false if the value is already set, or if a higher level is
// in progress, because that level includes this recovery. A lower level is overwritten, because it has failed or timed out.
func Place(annotations map[string]string, s State, now time.Time) (value string, write bool) {
	old, found := Of(annotations)
	if found && old.Level > s.Level && old.holds(now) {
		return "", false
	}
	value = s.Format()
	return value, annotations[Annotation] != value
}

// Release reports whether a program at one of the given levels must remove the annotation after its recovery. Annotations of
// other levels are kept.
func Release(annotations map[string]string, levels ...int) bool {
	s, found := Of(annotations)
	return found && slices.Contains(levels, s.Level)
}

func invalid(value, problem string) error {
	return fmt.Errorf("annotation %s has the invalid value %.200q: %s", Annotation, value, problem)
}
