// Package epoch reads and writes the annotation that numbers the epochs (generations) of a group.
//
// A new epoch begins whenever the pods of a group are deleted on purpose: when the group is suspended, restarted by the failure
// policy or recreated. The controller that does this writes the next epoch before it changes any Job, so that others can
// distinguish an intended stop from a failure. See DESIGN section 3, "Epochs".
package epoch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Annotation is the key of the annotation. On a JobSet, its value is a Record. On a Job and its pods, it is the number of the
// epoch in which they were created or resumed.
const Annotation = "holdfast.dev/epoch"

// Record is the value of the annotation on a JobSet.
type Record struct {
	// Epoch is the number of the current epoch, starting from 1.
	Epoch int32 `json:"epoch"`
	// Base is the number of restarts that counted against the budget before this epoch.
	Base int32 `json:"base"`
	// Early is the part of Base that was added in this epoch, for failures before the group had formed. Further failures are
	// counted from there.
	Early int32 `json:"early,omitempty"`
	// Recreate is the last epoch that began with a full recreation; 0 means none. Jobs of an earlier epoch are stale.
	Recreate int32 `json:"recreate"`
	// Restarts and Counted are status.restarts and status.restartsCountTowardsMax of the JobSet when the epoch was opened. They are
	// set if the JobSet's controller does not open epochs; see Follow.
	Restarts int32 `json:"restarts,omitempty"`
	Counted  int32 `json:"counted,omitempty"`
	// After is the creation time of the newest pod that existed when the epoch was opened, in Unix seconds, by the API server's
	// clock. It is set for owners whose pods are not annotated with their epoch: pods created later belong to this epoch.
	After int64 `json:"after,omitempty"`
	// Cause is what opened the epoch, and why. It serves as the idempotency key: the same cause never opens two epochs in a row.
	Cause string `json:"cause,omitempty"`
}

// First returns the epoch of a JobSet without the annotation.
func First() Record { return Record{Epoch: 1} }

// Of returns the epoch from the annotations of a JobSet. It ignores unknown fields, which later versions may have written, and
// rejects numbers that are out of range. If there is an error, it also returns the first epoch.
func Of(annotations map[string]string) (Record, error) {
	value, found := annotations[Annotation]
	if !found {
		return First(), nil
	}
	var r Record
	err := json.Unmarshal([]byte(value), &r)
	if err == nil && (r.Epoch < 1 || min(r.Base, r.Early, r.Recreate) < 0 || r.Recreate > r.Epoch) {
		err = errors.New("a number is out of range")
	}
	if err != nil {
		return First(), fmt.Errorf("annotation %s has the invalid value %q: %w", Annotation, value, err)
	}
	return r, nil
}

// Format returns the value of the annotation.
func (r Record) Format() string {
	value, _ := json.Marshal(r) // numbers and a string always marshal
	return string(value)
}

// Next opens the epoch after r. Use it for a stop that keeps the Jobs, or if the controller itself numbers the new Jobs. base is
// the number of restarts counted against the budget so far. If r was opened for the same cause, Next returns r and false.
func (r Record) Next(cause string, base int32) (Record, bool) {
	if r.Cause == cause || r.Epoch == math.MaxInt32 {
		return r, false
	}
	return Record{Epoch: r.Epoch + 1, Base: base, Recreate: r.Recreate, Restarts: r.Restarts, Counted: r.Counted, Cause: cause}, true
}

// Follow opens the next epoch after a controller that does not open epochs has recreated the Jobs. restarts and counted come from
// the owner's status; counted is the number of restarts that count towards maxRestarts. Follow adds the restarts counted since r
// was opened to charged, the number charged to the budget so far. It returns r and false if the controller has not recreated the
// Jobs since r was opened.
func (r Record) Follow(cause string, charged, restarts, counted int32) (Record, bool) {
	if r.Restarts == restarts {
		return r, false
	}
	next, opened := r.Next(cause, charged+max(0, counted-r.Counted))
	if opened {
		next.Restarts, next.Counted = restarts, counted
	}
	return next, opened
}

// NextRecreate is like Next, but for a full recreation: it makes the Jobs of all earlier epochs stale.
func (r Record) NextRecreate(cause string, base int32) (Record, bool) {
	next, opened := r.Next(cause, base)
	if opened {
		next.Recreate = next.Epoch
	}
	return next, opened
}

// OfJob returns the epoch from the annotations of a Job or a pod. A missing or unreadable number means the first epoch, because
// the controller that created such a Job does not use epochs.
func OfJob(annotations map[string]string) int32 {
	number, err := strconv.ParseInt(annotations[Annotation], 10, 32)
	if err != nil || number < 1 {
		return 1
	}
	return int32(number)
}

// FormatNumber is the inverse of OfJob.
func FormatNumber(epoch int32) string { return strconv.FormatInt(int64(epoch), 10) }

// OfPod returns the epoch of a pod without the annotation, based on its creation time.
func (r Record) OfPod(created time.Time) int32 {
	if created.Unix() > r.After {
		return r.Epoch
	}
	return r.Epoch - 1
}

// Stale reports whether a full recreation has replaced a Job that was created in the given epoch.
func (r Record) Stale(created int32) bool { return created < r.Recreate }
