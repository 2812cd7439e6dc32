// Package history defines the format of a workload's restart history annotation: one JSON object in each line for each restart, the newest
// last. It is pure.
//
//	{"generation":1,"restart":4,"failedAt":"2026-11-22T01:40:10.004Z","kind":"in-place","cause":{"kind":"hang","exitCode":137,"signal":"SIGKILL","reason":"30s"},"worker":"workers-0-3","pod":"bb2q9","node":"node-b","ms":[30004,7,0,80],"counted":true}
//	{"generation":2,"restart":0,"failedAt":"2026-11-22T01:52:00.731Z","kind":"recreation","cause":{"kind":"timeout"},"ms":[0,0,1100,8020],"counted":false}
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// Milliseconds is a duration.
type Milliseconds int64

// Duration converts to the standard type.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Attempt numbers the restarts of a workload by the epoch, which increases with each recreation, and the restart count within it.
type Attempt struct {
	Epoch int64 `json:"generation"`
	Round int64 `json:"restart"`
}

// After reports whether a is later than b.
func (a Attempt) After(b Attempt) bool {
	return a.Epoch > b.Epoch || (a.Epoch == b.Epoch && a.Round > b.Round)
}

// Cause is why a restart was necessary.
type Cause struct {
	Kind     string `json:"kind"` // such as exit, hang, pod or timeout
	ExitCode int64  `json:"exitCode,omitempty"`
	Signal   string `json:"signal,omitempty"` // such as SIGKILL; empty if none or unknown
	Reason   string `json:"reason,omitempty"` // such as OOMKilled; for a hang, the time without progress
}

// String describes the cause in a few words.
func (c Cause) String() string {
	var text string
	switch c.Kind {
	case "exit":
		text = fmt.Sprintf("exited with code %d", c.ExitCode)
	case "hang":
		return strings.TrimSpace("made no progress for " + c.Reason)
	case "pod":
		text = "its pod was lost"
	case "replaced":
		text = "its container was restarted"
	case "timeout":
		text = "the previous restart timed out"
	case "forming":
		text = "workers had not joined in time"
	default:
		text = c.Kind
	}
	more := slices.DeleteFunc([]string{c.Signal, c.Reason}, func(part string) bool { return part == "" })
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// ReasonOf returns a runtime's reason for a container's exit if it is a single word that adds information to the exit code. Otherwise it returns
// "".
func ReasonOf(reason string) string {
	if reason == "Error" || reason == "Completed" || len(strings.Fields(reason)) != 1 {
		return ""
	}
	return reason
}

// Entry describes one restart.
type Entry struct {
	Attempt
	FailedAt time.Time            `json:"failedAt"` // in whole milliseconds
	Kind     string               `json:"kind"`
	Cause    Cause                `json:"cause"`
	Worker   string               `json:"worker,omitempty"` // replicatedJob, job index and pod index of the failed worker, joined by dashes
	Pod      string               `json:"pod,omitempty"`    // name of its pod, without the prefix for the workload and worker
	Node     string               `json:"node,omitempty"`
	Took     [phases]Milliseconds `json:"ms"`
	Ended    End                  `json:"ended,omitempty"`
	Counted  bool                 `json:"counted"` // it counts against the budget
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
	var sum Milliseconds
	for _, ms := range e.Took {
		sum += ms
	}
	return sum.Duration()
}

const (
	// MaxEntries limits the annotation. The oldest entries are dropped.
	MaxEntries = 20
	// maxWord limits the length of each name, in bytes. Events contain the full names.
	maxWord = 200
)

// Format returns the value of the annotation for a list of entries, the newest last. If there are too many, the oldest are
// dropped. Members of a group may report impossible times and any names, but all entries of the result can be read back.
func Format(list []Entry) string {
	var text strings.Builder
	for _, e := range list[max(0, len(list)-MaxEntries):] {
		if year := e.FailedAt.Year(); year < 0 || year > 9999 {
			e.FailedAt = time.Time{}
		}
		for _, name := range []*string{&e.Cause.Kind, &e.Cause.Reason, &e.Worker, &e.Pod, &e.Node} {
			*name = word(*name)
		}
		line, _ := json.Marshal(e) // fails only for impossible times
		fmt.Fprintf(&text, "%s\n", line)
	}
	return text.String()
}

// word replaces the characters of a name that JSON would escape, which would make it longer.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) {
			return '_'
		}
		return r
	}, s)
	return s[:min(len(s), maxWord)]
}

// Parse parses the value of the annotation. It skips invalid lines, which a later version may have written, and returns an error
// that names them.
func Parse(text string) (list []Entry, err error) {
	for line := range strings.Lines(text) {
		var e Entry
		if invalid := json.Unmarshal([]byte(line), &e); invalid != nil {
			err = errors.Join(err, fmt.Errorf("annotation %s: %.80q: %w", Annotation, line, invalid))
			continue
		}
		list = append(list, e)
	}
	return list, err
}
