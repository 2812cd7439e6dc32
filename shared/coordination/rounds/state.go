package rounds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is the level, and what the functions keep beside it.
type State struct {
	Level
	Full      int       // so many leading units have all joined
	Early     int       // rounds in a row that ended soon after they started
	StartedAt time.Time // of the round, by the store's clock; zero: it has not started
	// Finished: a worker that nobody holds has finished, so that a later failure needs new Jobs.
	Finished bool
	marks    string // of the functions' own, a digit for each unit
}

// Fresh is the state of a group with this level and number of units, in which nobody has joined.
func Fresh(l Level, units int) State { return State{Level: l, marks: strings.Repeat("0", units)} }

// String is the state as it is stored.
func (s State) String() string {
	return fmt.Sprintf("%s|%d %d %d %d %s", s.Level, s.Full, s.Early, Milliseconds(s.StartedAt), bit(s.Finished), s.marks)
}

// ParseState reads a stored state. An error quotes the text.
func ParseState(text string) (State, error) {
	level, err := ParseLevel(text)
	if err != nil {
		return State{}, err
	}
	_, own, _ := strings.Cut(text, "|")
	f := strings.Split(own, " ")
	if len(f) != 5 || len(f[4]) > MaxUnits || strings.Trim(f[4], "01234567") != "" {
		return State{}, fmt.Errorf("state %.80q has no part of the functions' own", text)
	}
	var numbers [4]int64
	for i := range numbers {
		if numbers[i], err = parseCount(f[i]); err != nil {
			return State{}, fmt.Errorf("state %.80q: %w", text, err)
		}
	}
	if numbers[2] > maxMoment {
		return State{}, fmt.Errorf("state %.80q: the round starts after the year 2248", text)
	}
	return State{
		Level: level, Full: int(numbers[0]), Early: int(numbers[1]), StartedAt: moment(numbers[2]), Finished: numbers[3] == 1, marks: f[4],
	}, nil
}

// Marks of a unit: a member runs in this round; a death was reported that peers may hang on.
const (
	markRuns = 1
	markDied = 4
)

// Runs reports whether a member that has joined runs in this round already.
func (s State) Runs() bool {
	return slices.ContainsFunc([]byte(s.marks), func(mark byte) bool { return mark >= '0' && (mark-'0')/markRuns%2 == 1 })
}

// WithDeath is a state in which a death was reported that peers may hang on: one more round follows.
func (s State) WithDeath() State {
	if s.marks != "" {
		s.marks = strconv.Itoa(markDied) + s.marks[1:]
	}
	return s
}

// Died reports whether an instance has died in a unit that waits for joins after its program had started: its peers may hang.
func (s State) Died() bool {
	for u, mark := range s.marks {
		if u >= s.Started && mark >= '0' && (mark-'0')/markDied%2 == 1 {
			return true
		}
	}
	return false
}
