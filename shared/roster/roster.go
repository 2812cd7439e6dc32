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
