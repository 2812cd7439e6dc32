// Package roster lets the owner of a changing set of pods have them managed as a group, although the owner and the orchestrator do not
// know each other's kinds. It defines two annotations on the owner's object.
//
//	owner         Roster   the members of the group, and how often it may restart
//	orchestrator  Report   the state of the group, failed workers, and workers that cannot restart in place
//
// A member is a pod and not a slot: a replacement is a new member with a new name, so it never receives anything meant for its
// predecessor. Both annotations describe the complete state, so it does not matter if a program misses a change. The package is pure.
package roster

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Annotation is the key of the annotation with a Roster. The owner's controller writes it.
const Annotation = "holdfast.dev/group"

// MaxMembers is the maximum size of a group. Each member is a stage of its own, so that any member can join or leave.
const MaxMembers = 1024

// Roster defines the members of a group.
type Roster struct {
	// Epoch increases whenever all earlier pods are gone; see package epoch.
	Epoch int64
	// Limit is the last round to which the group may restart without further permission.
	Limit int64
	// Timeout is the timeout of an in-place restart.
	Timeout time.Duration
	// Members are names as returned by Member. An empty list leaves the group unchanged.
	Members []string
}

// Member returns the name for the member with the given worker index and pod UID.
func Member(index int, pod string) string { return fmt.Sprintf("worker-%d.%s", index, pod) }

// ParseMember is the inverse of Member.
func ParseMember(name string) (index int, pod string, ok bool) {
	worker, pod, found := strings.Cut(name, ".")
	digits, prefixed := strings.CutPrefix(worker, "worker-")
	index, err := strconv.Atoi(digits)
	if !found || !prefixed || err != nil || index < 0 || pod == "" || name != Member(index, pod) {
		return 0, "", false
	}
	return index, pod, true
}

// Stage returns a member's stage. Finished workers are released, and the others continue without them.
func Stage(member string, step int64) coordination.Stage {
	return coordination.Stage{Prefix: member, Jobs: 1, Pods: 1, Step: step, Release: coordination.ReleaseFree}
}

// Slot returns the slot name that the member's agent uses.
func Slot(member string) string { return Stage(member, 0).Slot(0, 0) }

// MemberOf is the inverse of Slot. It returns "" if the slot does not belong to a member.
func MemberOf(slot string) string {
	member, found := strings.CutSuffix(slot, "-0-0")
	if !found {
		return ""
	}
	return member
}

type wireRoster struct {
	Epoch     int64    `json:"epoch"`
	Limit     int64    `json:"limit"`
	TimeoutMS int64    `json:"timeoutMilliseconds"`
	Members   []string `json:"members"`
}

// Format returns the value of the annotation, with sorted members.
func (r Roster) Format() string {
	members := append([]string{}, r.Members...)
	slices.Sort(members)
	return encode(wireRoster{r.Epoch, r.Limit, r.Timeout.Milliseconds(), members})
}

// Of returns the roster from the annotations of an owner, or nil if there is none. It returns an error if the roster is invalid.
func Of(annotations map[string]string) (*Roster, error) {
	value, found := annotations[Annotation]
	if !found {
		return nil, nil
	}
	var w wireRoster
	if err := json.Unmarshal([]byte(value), &w); err != nil {
		return nil, invalid(err.Error())
	}
	switch {
	case w.Epoch < 1 || w.Epoch > coordination.MaxCount || w.Limit < 0 || w.Limit > coordination.MaxCount:
		return nil, invalid("epoch or limit is out of range")
	case w.TimeoutMS < 1 || w.TimeoutMS > maxTimeout.Milliseconds():
		return nil, invalid("the timeout must be between 1 ms and a year")
	case len(w.Members) > MaxMembers:
		return nil, invalid(fmt.Sprintf("%d members exceed the limit of %d", len(w.Members), MaxMembers))
	}
	seen := map[string]bool{}
	for _, name := range w.Members {
		if _, _, ok := ParseMember(name); !ok || seen[name] {
			return nil, invalid(fmt.Sprintf("%.80q is not a valid member name, or is a duplicate", name))
		}
		seen[name] = true
	}
	return &Roster{Epoch: w.Epoch, Limit: w.Limit, Timeout: time.Duration(w.TimeoutMS) * time.Millisecond, Members: w.Members}, nil
}

const maxTimeout = 365 * 24 * time.Hour

func encode(v any) string {
	value, _ := json.Marshal(v) // numbers, strings and lists of them always marshal
	return string(value)
}

func invalid(problem string) error { return fmt.Errorf("annotation %s: %s", Annotation, problem) }

// ReportAnnotation is the key of the annotation with a Report. The orchestrator writes it to the object that has Annotation.
const ReportAnnotation = "holdfast.dev/group-report"

// MaxFailures is the maximum number of failures in a report. Readers identify failures by their time, so that each is counted
// once.
const MaxFailures = 50

// Report describes the state of a group.
type Report struct {
	Epoch   int64              `json:"epoch"`
	Round   int64              `json:"round"`
	Phase   coordination.Phase `json:"phase"`
	Size    int64              `json:"size"`
	Message string             `json:"message,omitempty"`
	// Deadline is the deadline of the restart in progress; zero if there is none.
	Deadline time.Time `json:"deadline,omitzero"`
	// Failures are the latest worker failures, the newest last. Simultaneous failures count as one.
	Failures []Failure `json:"failures,omitempty"`
	// Lost lists the members that cannot restart in place.
	Lost []Lost `json:"lost,omitempty"`
}

// Failure is a worker failure that the group has handled.
type Failure struct {
	// At is when the store received the report, in Unix milliseconds.
	At     int64  `json:"at"`
	Member string `json:"member"`
	Kind   string `json:"kind"` // exit or hang
	Code   int64  `json:"code,omitempty"`
	Signal int64  `json:"signal,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Lost is a member whose pod must be replaced, and why.
type Lost struct {
	Member string `json:"member"`
	Why    string `json:"why"`
}

// Format returns the value of the annotation. The deadline is rounded up to a whole second.
func (r Report) Format() string {
	if !r.Deadline.IsZero() {
		r.Deadline = r.Deadline.UTC().Add(time.Second - time.Nanosecond).Truncate(time.Second)
	}
	return encode(r)
}

// ReportOf returns the report from the annotations of an owner, or nil if there is no valid report. An invalid report is not an error,
// because the report is informational and is rewritten on each change.
func ReportOf(annotations map[string]string) *Report {
	var r Report
	if err := json.Unmarshal([]byte(annotations[ReportAnnotation]), &r); err != nil {
		return nil
	}
	if r.Epoch < 0 || r.Epoch > coordination.MaxCount || r.Round < 0 || r.Round > coordination.MaxCount || len(r.Failures) > MaxFailures {
		return nil
	}
	return &r
}
