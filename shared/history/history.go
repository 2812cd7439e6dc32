// Package history defines the format of a workload's restart history annotation: one line for each restart, the newest last, readable by
// people and programs. It is pure.
//
//	# restart  failed at (UTC)  kind  cause  worker/pod@node  lost=detect+order+down+start in ms
//	1.3 2026-11-22T01:23:45.120Z in-place exit:137:SIGKILL workers-0-12/x7k2p@node-a 81=1+2+0+78
//	1.4 2026-11-22T01:40:10.004Z in-place hang:137:SIGKILL:30s workers-0-3/bb2q9@node-b 30091=30004+7+0+80
//	2.0 2026-11-22T01:52:00.731Z recreation timeout - 9120=0+0+1100+8020 uncounted
package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Annotation is the key of the annotation. Its value is a list of entries, as returned by Format.
const Annotation = "holdfast.dev/restart-history"

// Kinds of restarts.
const (
	InPlace    = "in-place"
	Recreation = "recreation"
)

// Phase is a part of a restart. The phases follow each other without gaps from the failure until all workers are running again, so they
// add up to the outage.
type Phase int

const (
	Detect Phase = iota // from the failure to its detection
	Order               // until the restart is ordered
	Down                // until the last old worker has ended; part of Start for in-place restarts
	Start               // until all workers are running again
	phases
)

// Phases lists all phases.
var Phases = [phases]Phase{Detect, Order, Down, Start}

var phaseNames = [phases]string{"detect", "order", "down", "start"}

func (p Phase) String() string { return phaseNames[p] }

// Attempt numbers the restarts of a workload by the epoch, which increases with each recreation, and the restart count within it.
type Attempt struct{ Epoch, Round int64 }

// After reports whether a is later than b.
func (a Attempt) After(b Attempt) bool {
	return a.Epoch > b.Epoch || (a.Epoch == b.Epoch && a.Round > b.Round)
}

// Cause is why a restart was necessary.
type Cause struct {
	Kind     string // such as exit, hang, pod or timeout
	ExitCode int64
	Signal   string // such as SIGKILL; empty if none or unknown
	Reason   string // such as OOMKilled; for a hang, the time without progress
}

// ReasonOf returns a runtime's reason for the end of a container if it is a single word that adds information to the exit code. Otherwise
// it returns "".
func ReasonOf(reason string) string {
	if reason == "Error" || reason == "Completed" || len(strings.Fields(reason)) != 1 {
		return ""
	}
	return reason
}

// Entry describes one restart.
type Entry struct {
	Attempt
	FailedAt time.Time // in whole milliseconds
	Kind     string
	Cause    Cause
	Worker   string // replicatedJob, job index and pod index of the failed worker, joined by dashes; may be empty
	Pod      string // name of its pod, without the prefix for the workload and worker
	Node     string
	Took     [phases]time.Duration // in whole milliseconds
	Ended    End
	Counted  bool // it counts against the budget
}

// End is how a restart ended.
type End string

const (
	Running   End = ""          // all workers are running
	Overtaken End = "overtaken" // by another failure; the outage continues in the next entry
	Abandoned End = "abandoned" // it timed out or could not finish; a recreation follows
)

// Lost returns the outage, the sum of all phases.
func (e Entry) Lost() time.Duration {
	var sum time.Duration
	for _, d := range e.Took {
		sum += d
	}
	return sum
}

const (
	// MaxEntries and MaxBytes limit the annotation. The oldest entries are dropped.
	MaxEntries = 20
	MaxBytes   = 4096
	// maxWord limits the length of each name, in bytes. Events contain the full names.
	maxWord = 200
	// maxLine is an upper limit for the length of a line, which has six names and several numbers.
	maxLine = 6*maxWord + 250

	title   = "# restart  failed at (UTC)  kind  cause  worker/pod@node  lost=detect+order+down+start in ms"
	nothing = "-"
	stamp   = "2006-01-02T15:04:05.000Z"
)

// Format returns the value of the annotation for a list of entries, the newest last. If there are too many, the oldest are
// dropped.
func Format(list []Entry) string {
	lines := []string{}
	size := len(title)
	for _, e := range slices.Backward(list[max(0, len(list)-MaxEntries):]) {
		line := e.String()
		if size += 1 + len(line); size > MaxBytes {
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return strings.Join(append([]string{title}, lines...), "\n")
}

// Whole reports whether a text contains all entries that were ever added.
func Whole(text string) bool {
	list, err := Parse(text)
	return err == nil && len(list) < MaxEntries && len(text)+1+maxLine <= MaxBytes
}

// String returns the line of an entry.
func (e Entry) String() string {
	fields := []string{
		fmt.Sprintf("%d.%d", e.Epoch, e.Round), time.UnixMilli(within(e.FailedAt.UnixMilli(), maxTime)).UTC().Format(stamp), e.Kind, e.Cause.String(), e.where(), e.times(),
	}
	if e.Ended != Running {
		fields = append(fields, string(e.Ended))
	}
	if !e.Counted {
		fields = append(fields, uncounted)
	}
	return strings.Join(fields, " ")
}

const uncounted = "uncounted"

// String returns the parts up to the last non-empty one, separated by colons.
func (c Cause) String() string {
	code := ""
	if c.ExitCode != 0 {
		code = strconv.FormatInt(c.ExitCode, 10)
	}
	return strings.TrimRight(strings.Join([]string{word(c.Kind), code, word(c.Signal), word(c.Reason)}, ":"), ":")
}

// word replaces characters in a name that separate the fields of a line.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r == ':' || r == '/' || r == '@' || r == 0x7f {
			return '_'
		}
		return r
	}, s)
	return s[:min(len(s), maxWord)]
}

func (e Entry) where() string {
	where := word(e.Worker)
	if e.Pod != "" {
		where += "/" + word(e.Pod)
	}
	if e.Node != "" {
		where += "@" + word(e.Node)
	}
	if where == "" {
		return nothing
	}
	return where
}

func (e Entry) times() string {
	parts := make([]string, len(e.Took))
	var sum int64
	for i, d := range e.Took {
		ms := within(d.Milliseconds(), maxCount)
		parts[i] = strconv.FormatInt(ms, 10)
		sum += ms
	}
	return fmt.Sprintf("%d=%s", sum, strings.Join(parts, "+"))
}

// Parse parses the value of the annotation. It skips invalid lines, which a later version may have written, and returns an error
// that names them.
func Parse(text string) ([]Entry, error) {
	var list []Entry
	var bad []string
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseLine(line)
		if err != nil {
			bad = append(bad, err.Error())
			continue
		}
		list = append(list, e)
	}
	if len(bad) > 0 {
		return list, fmt.Errorf("annotation %s: %s", Annotation, strings.Join(bad, "; "))
	}
	return list, nil
}

func parseLine(line string) (Entry, error) {
	f := strings.Split(line, " ")
	if len(f) < 6 {
		return Entry{}, fmt.Errorf("%.80q has %d fields, want at least 6", line, len(f))
	}
	at, err := time.Parse(stamp, f[1])
	e := Entry{FailedAt: at, Kind: f[2], Counted: true}
	if err := cmp.Or(e.readAttempt(f[0]), err, e.Cause.read(f[3]), e.readTimes(f[5])); err != nil {
		return Entry{}, fmt.Errorf("%.80q: %w", line, err)
	}
	if f[4] != nothing {
		where, node, _ := strings.Cut(f[4], "@")
		e.Node = node
		e.Worker, e.Pod, _ = strings.Cut(where, "/")
	}
	for _, more := range f[6:] {
		switch {
		case more == uncounted:
			e.Counted = false
		case more == string(Overtaken) || more == string(Abandoned):
			e.Ended = End(more)
		}
	}
	return e, nil
}

func (e *Entry) readAttempt(s string) (err error) {
	epoch, round, _ := strings.Cut(s, ".")
	if e.Epoch, err = count(epoch); err != nil {
		return err
	}
	e.Round, err = count(round)
	return err
}

func (c *Cause) read(s string) (err error) {
	parts := append(strings.SplitN(s, ":", 4), "", "", "")
	c.Kind, c.Signal, c.Reason = parts[0], parts[2], parts[3]
	if parts[1] != "" {
		c.ExitCode, err = strconv.ParseInt(parts[1], 10, 64)
	}
	return err
}

func (e *Entry) readTimes(s string) error {
	_, list, _ := strings.Cut(s, "=")
	parts := strings.Split(list, "+")
	if len(parts) != len(e.Took) {
		return fmt.Errorf("%q has %d durations, want %d", list, len(parts), len(e.Took))
	}
	for i, part := range parts {
		ms, err := count(part)
		if err != nil {
			return err
		}
		e.Took[i] = time.Duration(ms) * time.Millisecond
	}
	return nil
}

const (
	maxCount = 1 << 40         // so that durations do not overflow
	maxTime  = 253402300799999 // the last millisecond of the year 9999
)

// within returns the number closest to n that can be read back, because members of a group may report impossible times.
func within(n, limit int64) int64 { return min(max(n, 0), limit) }

func count(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > maxCount {
		return 0, fmt.Errorf("%q is not a count", s)
	}
	return n, nil
}
