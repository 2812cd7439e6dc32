package rounds

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	// MaxCount limits every count.
	MaxCount = coordination.MaxCount
	// MaxText limits every text that a function reads or writes, in bytes.
	MaxText = 512
	// MaxUnits limits the number of units in a group.
	MaxUnits = 64
	// MaxBatch is the maximum number of members in a Join.
	MaxBatch = 128
	// HistoryLength is the number of rounds that the history keeps.
	HistoryLength = 100
)

// Phase is the stored phase of a group. Level.Started and Level.Entered show whether an active group is forming, running or
// restarting.
type Phase string

const (
	Active     Phase = "A"
	OverBudget Phase = "B" // a worker failed and no restarts are left
	Recreate   Phase = "R" // the group cannot recover in place; the leader recreates the Jobs
	Closed     Phase = "C" // suspended
	Done       Phase = "D" // all required workers have finished
)

// Level is everything that an agent acts on. It is published whenever it changes, and returned by reads.
type Level struct {
	Incarnation string // random name of the stored data; changes whenever the leader writes the group to an empty store
	Generation  int64  // generation of the group, from 1; increases whenever the Jobs are recreated
	Seq         int64  // increases with every change
	Phase       Phase
	Round       int64         // the desired restart count within the generation
	Started     int           // units below this number are running in this round
	Entered     int           // units below this number have run in some round of the generation
	Left        Units         // units that have finished and left the group
	Pause       time.Duration // how long an instance waits after its unit has been started, in whole milliseconds
}

// Slot is a slot of the group, with the pod that reports for it.
type Slot struct {
	Name string
	Pod  string // UID
}

// Units is the stored form of a set of units: their numbers separated by commas, or a dash.
type Units string

// NoUnits is the empty set.
const NoUnits Units = "-"

// UnitsOf returns the set of the given units.
func UnitsOf(units ...int) Units {
	if len(units) == 0 {
		return NoUnits
	}
	texts := make([]string, len(units))
	for i, u := range units {
		texts[i] = strconv.Itoa(u)
	}
	return Units(strings.Join(texts, ","))
}

// Has reports whether the unit is in the set.
func (s Units) Has(unit int) bool {
	return strings.Contains(","+string(s)+",", ","+strconv.Itoa(unit)+",")
}

func (s Units) valid() bool {
	if s == NoUnits {
		return true
	}
	for text := range strings.SplitSeq(string(s), ",") {
		if n, err := strconv.Atoi(text); err != nil || n < 0 || n >= MaxUnits {
			return false
		}
	}
	return true
}

// Forming reports whether no unit has run in this generation yet.
func (l Level) Forming() bool { return l.Phase == Active && l.Entered == 0 }

// Running reports whether all units that have entered are running in this round.
func (l Level) Running() bool { return l.Phase == Active && l.Entered > 0 && l.Started >= l.Entered }

// Restarting reports whether units that have entered are waiting for joins.
func (l Level) Restarting() bool { return l.Phase == Active && l.Started < l.Entered }

// String returns the stored and published form of the level.
func (l Level) String() string {
	return fmt.Sprintf("%s %s %d %d %s %d %d %d %s %d",
		Version, l.Incarnation, l.Generation, l.Seq, l.Phase, l.Round, l.Started, l.Entered, l.Left, l.Pause.Milliseconds())
}

// ParseLevel parses a level, or the level in a stored state. Errors quote the text.
func ParseLevel(text string) (Level, error) {
	text, _, _ = strings.Cut(text, "|")
	f := strings.Split(text, " ")
	if len(f) != 10 || f[0] != Version || f[1] == "" {
		return Level{}, fmt.Errorf("%.80q is not a level of protocol version %s", text, Version)
	}
	n, err := parseCounts(f[2], f[3], f[5], f[6], f[7], f[9])
	if err != nil {
		return Level{}, fmt.Errorf("level %.80q: %w", text, err)
	}
	known := strings.Contains("ABRCD", f[4]) && len(f[4]) == 1
	if !known || max(n[3], n[4]) > MaxUnits || !Units(f[8]).valid() || n[5] > int64(maxPause/time.Millisecond) {
		return Level{}, fmt.Errorf("level %.80q: a field is out of range", text)
	}
	return Level{
		Incarnation: f[1], Generation: n[0], Seq: n[1], Phase: Phase(f[4]), Round: n[2], Started: int(n[3]), Entered: int(n[4]), Left: Units(f[8]),
		Pause: time.Duration(n[5]) * time.Millisecond,
	}, nil
}

// parseCounts parses several counts.
func parseCounts(texts ...string) ([]int64, error) {
	numbers := make([]int64, len(texts))
	for i, text := range texts {
		n, err := parseCount(text)
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	return numbers, nil
}

func parseCount(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > MaxCount {
		return 0, fmt.Errorf("%.80q is not a count", text)
	}
	return n, nil
}

// maxPause is longer than any pause that a JobSet can request. A forged pause must not delay a worker forever.
const maxPause = time.Hour
