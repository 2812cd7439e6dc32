package rounds

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Line is one line of the history. It says why a round was opened. Times are from the store's clock. Slot and Cause come from a
// report by a member or the leader, so they may be forged.
type Line struct {
	Generation, Round int64
	StartedBefore     time.Time // when the previous round started, after its pause; zero if it did not start
	OpenedAt          time.Time
	Ends              bool // the round was not opened, because in-place restarts ended
	Slot, Cause       string
}

// Kinds of lines.
const (
	lineNext = "next"
	lineEnd  = "end"
)

// LinesOf returns the history fields that hold the lines of n rounds, starting with the given round.
func LinesOf(round int64, n int) []string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = strconv.FormatInt((round+int64(i))%HistoryLength, 10)
	}
	return fields
}

// String returns the stored form of the line.
func (l Line) String() string {
	kind := lineNext
	if l.Ends {
		kind = lineEnd
	}
	return strings.TrimSpace(fmt.Sprintf("%d %d %d %d %s %s %s", l.Generation, l.Round, Milliseconds(l.StartedBefore), Milliseconds(l.OpenedAt), kind, word(l.Slot), l.Cause))
}

// ParseLine parses a line. Errors quote the text.
func ParseLine(text string) (Line, error) {
	f := strings.SplitN(text, " ", 7)
	if len(f) < 6 || len(text) > 2*MaxText || (f[4] != lineNext && f[4] != lineEnd) {
		return Line{}, fmt.Errorf("history: %.80q is not a line", text)
	}
	numbers, err := parseCounts(f[:4]...)
	if err != nil || max(numbers[2], numbers[3]) > maxMoment {
		return Line{}, fmt.Errorf("history: line %.80q: a number is out of range", text)
	}
	l := Line{
		Generation: numbers[0], Round: numbers[1], StartedBefore: moment(numbers[2]), OpenedAt: moment(numbers[3]), Ends: f[4] == lineEnd, Slot: f[5],
	}
	if len(f) == 7 {
		l.Cause = f[6]
	}
	return l, nil
}

// FormatFailure formats the cause of a death as members report it: as words separated by spaces.
func FormatFailure(f coordination.Failure) string {
	return fmt.Sprintf("%s %d %d %s %s %s %d %d", word(f.Kind), f.ExitCode, f.Signal, word(f.Reason), word(f.PodName), word(f.Node), f.FailedAt, f.DetectedAt)
}

// LostPod returns the cause of a release: the slot that has lost its pod and, if known, where the pod was running.
func LostPod(slot string, was coordination.Place) string {
	return slot + " " + FormatFailure(coordination.Failure{Cause: coordination.Cause{Kind: coordination.KindPod, Place: was}})
}

// Failure parses the cause of a line. Since members may have forged it, unreadable parts are left empty and no time is later than
// the time of the line.
func (l Line) Failure() coordination.Failure {
	f := coordination.Failure{Cause: coordination.Cause{Slot: l.Slot}}
	words := strings.Fields(l.Cause)
	if len(words) == 0 {
		return f
	}
	f.Kind = words[0]
	if len(words) != 8 {
		return f
	}
	f.ExitCode, _ = strconv.ParseInt(words[1], 10, 64)
	f.Signal, _ = strconv.ParseInt(words[2], 10, 64)
	f.Reason, f.PodName, f.Node = unword(words[3]), unword(words[4]), unword(words[5])
	f.FailedAt, f.DetectedAt = l.before(words[6]), l.before(words[7])
	return f
}

// before parses a node's time in Unix milliseconds. It returns at most the time of the line, and 0 if the text is unreadable.
func (l Line) before(text string) int64 {
	n, _ := parseCount(text)
	return min(n, Milliseconds(l.OpenedAt))
}

// maxMoment limits all times, in Unix milliseconds. It is in the year 2248, so that any difference fits into a time.Duration.
const maxMoment = 1 << 43

// Milliseconds returns t in Unix milliseconds, or 0 for the zero time.
func Milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// moment is the inverse of Milliseconds.
func moment(milliseconds int64) time.Time {
	if milliseconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(milliseconds)
}

// maxWord limits each text in a cause, in bytes. Names of pods and nodes can have 253 bytes, and all texts together must fit into
// a line.
const maxWord = 120

// word returns the text with underscores instead of spaces, shortened to maxWord, or "-" if it is empty.
func word(text string) string {
	if text = strings.Join(strings.Fields(text), "_"); text == "" {
		return "-"
	}
	return text[:min(len(text), maxWord)]
}

func unword(text string) string {
	if text == "-" {
		return ""
	}
	return text
}
