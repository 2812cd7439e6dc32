// Package epoch reads and writes the annotation that numbers the epochs (generations) of a group.
//
// A new epoch begins whenever the group is emptied on purpose: by a suspend, by a restart of the failure policy or by a full
// recreation. A controller that empties the group first writes the next epoch and only then changes a Job, so that the others can
// tell an intended stop from a failure. See DESIGN section 3, "Epochs".
package epoch

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Annotation is the key of the annotation. On a JobSet its value is a Record. On a Job and its pods it is the number of the epoch
// in which they were created or resumed.
const Annotation = "holdfast.dev/epoch"

// Record is the value of the annotation on a JobSet.
type Record struct {
	// Epoch is the number of the current epoch, from 1.
	Epoch int32 `json:"epoch"`
	// Base is the number of restarts charged to the budget before this epoch.
	Base int32 `json:"base"`
	// Early is the part of Base that was charged in this epoch, for failures before the group had formed. The count of further
	// failures continues from Early.
	Early int32 `json:"early,omitempty"`
	// Recreate is the last epoch that began with a full recreation; 0 means none. Jobs of an earlier epoch are stale.
	Recreate int32 `json:"recreate"`
	// Restarts and Counted are status.restarts and status.restartsCountTowardsMax of the JobSet when the epoch was opened. They are
	// set if the controller of the JobSet opens no epochs; see Follow.
	Restarts int32 `json:"restarts,omitempty"`
	Counted  int32 `json:"counted,omitempty"`
	// After is the creation time of the newest pod that existed when the epoch was opened, in Unix seconds of the API server. It is
	// set for owners whose pods do not carry their epoch: pods created later belong to this epoch.
	After int64 `json:"after,omitempty"`
	// Cause says what opened the epoch and why. It is the idempotency key: the same cause never opens two epochs in a row.
	Cause string `json:"cause,omitempty"`
}

// First returns the epoch of a JobSet without the annotation.
func First() Record { return Record{Epoch: 1} }

// Of returns the epoch in the annotations of a JobSet. It returns the error of Parse.
func Of(annotations map[string]string) (Record, error) {
	value, found := annotations[Annotation]
	if !found {
		return First(), nil
	}
	return Parse(value)
}

// Parse reads the value of the annotation. It ignores unknown fields, which later versions may write, and rejects impossible
// numbers.
func Parse(value string) (Record, error) {
	var r Record
	if err := json.Unmarshal([]byte(value), &r); err != nil {
		return Record{}, invalid(value, err.Error())
	}
	if problem := r.problem(); problem != "" {
		return Record{}, invalid(value, problem)
	}
	return r, nil
}

// Format is the inverse of Parse.
func (r Record) Format() string {
	value, _ := json.Marshal(r) // numbers and a string always marshal
	return string(value)
}

// Next opens the epoch after r for a stop that keeps the Jobs, or that the controller marks on them by another number. base is the
// number of restarts charged so far. If r was opened for the same cause, Next returns r and false.
func (r Record) Next(cause string, base int32) (Record, bool) {
	if r.Cause == cause || r.Epoch == math.MaxInt32 {
		return r, false
	}
	return Record{Epoch: r.Epoch + 1, Base: base, Recreate: r.Recreate, Restarts: r.Restarts, Counted: r.Counted, Cause: cause}, true
}

// Follow opens the next epoch after a controller that opens no epochs has recreated the Jobs. restarts and counted come from its
// status: counted is the number of restarts that count towards maxRestarts. The new ones among them are added to charged, the
// number of restarts charged so far. Follow returns r and false if the controller has recreated nothing since r was opened.
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

// NextRecreate is Next for a full recreation: it makes the Jobs of all earlier epochs stale.
func (r Record) NextRecreate(cause string, base int32) (Record, bool) {
	next, opened := r.Next(cause, base)
	if opened {
		next.Recreate = next.Epoch
	}
	return next, opened
}

// OfJob returns the epoch in the annotations of a Job or a pod. Absent and unreadable numbers mean the first epoch: the controller
// that created such a Job has no epochs.
func OfJob(annotations map[string]string) int32 {
	number, err := strconv.ParseInt(annotations[Annotation], 10, 32)
	if err != nil || number < 1 {
		return 1
	}
	return int32(number)
}

// FormatNumber is the inverse of OfJob.
func FormatNumber(epoch int32) string { return strconv.FormatInt(int64(epoch), 10) }

// OfPod returns the epoch of a pod without the annotation, by its creation time.
func (r Record) OfPod(created time.Time) int32 {
	if created.Unix() > r.After {
		return r.Epoch
	}
	return r.Epoch - 1
}

// Stale reports whether a full recreation has replaced a Job that was created in the given epoch.
func (r Record) Stale(created int32) bool { return created < r.Recreate }

func (r Record) problem() string {
	switch {
	case r.Epoch < 1:
		return "epoch must be 1 or more"
	case r.Base < 0:
		return "base must not be negative"
	case r.Early < 0:
		return "early must not be negative"
	case r.Recreate < 0 || r.Recreate > r.Epoch:
		return "recreate must be between 0 and epoch"
	}
	return ""
}

func invalid(value, problem string) error {
	return fmt.Errorf("annotation %s has the invalid value %q: %s", Annotation, value, problem)
}
