package roster

import (
	"encoding/json"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

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
