// Package roster is how the owner of a changing set of pods has them led as a group, without either program knowing the other's kind:
// two annotations on the owner's object.
//
//	owner         Roster   who is to be in the group now, and how often it may be restarted
//	orchestrator  Report   what the group does, which workers have failed, and which do not come back in place
//
// A member is a pod, not a place: a pod that replaces another is a new member under a new name, so nothing that was meant for the one
// before ever reaches it, and either program may have slept while they changed. Both annotations are levels. It is pure.
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

// Annotation is the key, with a Roster as its value. Its owner writes it.
const Annotation = "holdfast.dev/group"

// MaxMembers is how many a group can have: each is a stage of it, so that any of them may come and go.
const MaxMembers = 1024

// Roster is who is to be in the group.
type Roster struct {
	// Epoch grows whenever all pods before it are gone; see package coordination.
	Epoch int64
	// Limit is the round up to which the group may be restarted without asking.
	Limit int64
	// Timeout of a restart in place.
	Timeout time.Duration
	// Members by the names that Member gives. Without any the group stays as it is.
	Members []string
}

// Member is the name of the member that a pod with a worker in it is: a worker has the index, its pod the UID.
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

// Stage is a member as the group has it. A worker that has finished is not held: the others go on without it.
func Stage(member string, step int64) coordination.Stage {
	return coordination.Stage{Prefix: member, Jobs: 1, Pods: 1, Step: step, Release: coordination.ReleaseFree}
}

// Slot is the name by which the member's agent speaks.
func Slot(member string) string { return Stage(member, 0).Slot(0, 0) }

// MemberOf is the inverse of Slot; empty if the slot is none of a member.
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

// Format is the value of the annotation. Members are sorted.
func (r Roster) Format() string {
	members := slices.Sorted(slices.Values(r.Members))
	if members == nil {
		members = []string{}
	}
	return encode(wireRoster{r.Epoch, r.Limit, r.Timeout.Milliseconds(), members})
}

// Of reads the annotations of an owner: nil if it wants no group. A roster that is out of bounds is an error.
func Of(annotations map[string]string) (*Roster, error) {
	value, found := annotations[Annotation]
	if !found {
		return nil, nil
	}
	var w wireRoster
	if err := json.Unmarshal([]byte(value), &w); err != nil {
		return nil, invalid(Annotation, err.Error())
	}
	switch {
	case w.Epoch < 1 || w.Epoch > coordination.MaxCount || w.Limit < 0 || w.Limit > coordination.MaxCount:
		return nil, invalid(Annotation, "epoch and limit must be counts, the epoch from 1")
	case w.TimeoutMS < 1 || w.TimeoutMS > maxTimeout.Milliseconds():
		return nil, invalid(Annotation, "the timeout must be between 1 ms and a year")
	case len(w.Members) > MaxMembers:
		return nil, invalid(Annotation, fmt.Sprintf("%d members are more than %d", len(w.Members), MaxMembers))
	}
	seen := map[string]bool{}
	for _, name := range w.Members {
		if _, _, ok := ParseMember(name); !ok || seen[name] {
			return nil, invalid(Annotation, fmt.Sprintf("%.80q is no member, or there twice", name))
		}
		seen[name] = true
	}
	return &Roster{Epoch: w.Epoch, Limit: w.Limit, Timeout: time.Duration(w.TimeoutMS) * time.Millisecond, Members: w.Members}, nil
}

const maxTimeout = 365 * 24 * time.Hour

func encode(v any) string {
	value, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers, strings and lists of them always marshal
	}
	return string(value)
}

func invalid(key, problem string) error { return fmt.Errorf("annotation %s: %s", key, problem) }

// ReportAnnotation is the key, with a Report as its value. The orchestrator writes it, onto the object that has the Annotation.
const ReportAnnotation = "holdfast.dev/group-report"

// MaxFailures is how many a report keeps. Who reads it counts each once, by its time.
const MaxFailures = 50

// Report is what a group does.
type Report struct {
	Epoch   int64              `json:"epoch"`
	Round   int64              `json:"round"`
	Phase   coordination.Phase `json:"phase"`
	Size    int64              `json:"size"`
	Message string             `json:"message,omitempty"`
	// Deadline of the restart in progress; zero without one.
	Deadline time.Time `json:"deadline,omitzero"`
	// Failures of workers, the newest last. Those that came together are one.
	Failures []Failure `json:"failures,omitempty"`
	// Lost members do not come back in place.
	Lost []Lost `json:"lost,omitempty"`
}

// Failure of a worker that the group has answered.
type Failure struct {
	// At is when the store heard of it, in Unix milliseconds.
	At     int64  `json:"at"`
	Member string `json:"member"`
	Kind   string `json:"kind"` // exit or hang
	Code   int64  `json:"code,omitempty"`
	Signal int64  `json:"signal,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Lost is a member whose pod has to be replaced, and why.
type Lost struct {
	Member string `json:"member"`
	Why    string `json:"why"`
}

// Format is the value of the annotation. The deadline is rounded up to a whole second.
func (r Report) Format() string {
	if !r.Deadline.IsZero() {
		r.Deadline = r.Deadline.UTC().Add(time.Second - time.Nanosecond).Truncate(time.Second)
	}
	return encode(r)
}

// ReportOf reads the annotations of an owner: nil if there is no report that can be read. It is an account of what goes on, and comes
// again.
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
