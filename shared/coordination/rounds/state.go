package rounds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is the level and additional values that only the functions use.
type State struct {
	Level
	Full      int       // the units below this number have fully joined
	Early     int       // number of consecutive rounds that ended soon after they started
	StartedAt time.Time // when the round started, by the store's clock; zero if it has not started
	// Finished means that a worker that is not held has finished, so a later failure requires new Jobs.
	Finished bool
	marks    string // one digit for each unit; only the functions use them
}

// Fresh returns the state of a group with the given level and number of units, before any join.
func Fresh(l Level, units int) State { return State{Level: l, marks: strings.Repeat("0", units)} }

// String returns the stored form of the state.
func (s State) String() string {
	return fmt.Sprintf("%s|%d %d %d %d %s", s.Level, s.Full, s.Early, Milliseconds(s.StartedAt), bit(s.Finished), s.marks)
}

// ParseState parses a stored state. Errors quote the text.
func ParseState(text string) (State, error) {
	level, err := ParseLevel(text)
	if err != nil {
		return State{}, err
	}
	_, own, _ := strings.Cut(text, "|")
	f := strings.Split(own, " ")
	if len(f) != 5 || len(f[4]) > MaxUnits || strings.Trim(f[4], "01234567") != "" {
		return State{}, fmt.Errorf("state %.80q: the part after the level is missing or invalid", text)
	}
	numbers, err := parseCounts(f[:4]...)
	if err != nil {
		return State{}, fmt.Errorf("state %.80q: %w", text, err)
	}
	if numbers[2] > maxMoment {
		return State{}, fmt.Errorf("state %.80q: the round starts after the year 2248", text)
	}
	return State{
		Level: level, Full: int(numbers[0]), Early: int(numbers[1]), StartedAt: moment(numbers[2]), Finished: numbers[3] == 1, marks: f[4],
	}, nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Marks of a unit. markRuns means that a member was already running in this round when it joined, and markDied that a reported
// death may have left peers hanging.
const (
	markRuns = 1
	markDied = 4
)

// Runs reports whether a member was already running in this round when it joined.
func (s State) Runs() bool {
	return slices.ContainsFunc([]byte(s.marks), func(mark byte) bool { return mark >= '0' && (mark-'0')/markRuns%2 == 1 })
}

// WithDeath returns the state with an additional death that may have left peers hanging, so that another round follows.
func (s State) WithDeath() State {
	if s.marks != "" {
		s.marks = strconv.Itoa(markDied) + s.marks[1:]
	}
	return s
}

// Died reports whether an instance has died after its program was started, in a unit that is waiting for joins. Its peers may
// hang.
func (s State) Died() bool {
	for u, mark := range s.marks {
		if u >= s.Started && mark >= '0' && (mark-'0')/markDied%2 == 1 {
			return true
		}
	}
	return false
}
