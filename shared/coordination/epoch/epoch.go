// Package epoch reads and writes the annotation that numbers the group epochs of a JobSet.
//
// An epoch is the time between two moments at which the group was emptied on purpose: by a suspend, by a restart of the failure
// policy or by a fail-over. Whoever empties the group first writes the next epoch and only then touches a Job, so that
// everybody else can tell an intended stop from a failure. See DESIGN section 3, "Epochs".
package epoch

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Annotation is the key, on a JobSet with a Record as its value, and on a Job and its pods with the plain number of the epoch
// that they were created or resumed in.
const Annotation = "holdfast.dev/epoch"

// Record is the value of the annotation on a JobSet.
type Record struct {
	// Epoch is the number of the current epoch, from 1.
	Epoch int32 `json:"epoch"`
	// Base is the number of restarts charged to the budget before this epoch.
	Base int32 `json:"base"`
	// Early is the part of Base that was charged in this epoch, for failures before the group had formed. Further ones are
	// counted from here.
	Early int32 `json:"early,omitempty"`
	// Recreate is the last epoch that a fail-over opened with a full recreation; 0 means none. Jobs of an earlier epoch are
	// stale.
	Recreate int32 `json:"recreate"`
	// Restarts and Counted are status.restarts and status.restartsCountTowardsMax of the JobSet when the epoch was opened, where the
	// controller that serves it opens no epochs; see Follow.
	Restarts int32 `json:"restarts,omitempty"`
	Counted  int32 `json:"counted,omitempty"`
	// After is when the newest pod was created that existed when the epoch was opened, in Unix seconds of the API server. It is there for owners
	// whose pods do not say their epoch: what was created later is of this epoch.
	After int64 `json:"after,omitempty"`
	// Cause says who opened the epoch and why. It is the idempotency key: the same cause never opens two epochs in a row.
	Cause string `json:"cause,omitempty"`
}

// First is the epoch of a JobSet without the annotation.
func First() Record { return Record{Epoch: 1} }

// Of gives the epoch of a JobSet by its annotations. It returns the error of Parse.
func Of(annotations map[string]string) (Record, error) {
	value, found := annotations[Annotation]
	if !found {
		return First(), nil
	}
	return Parse(value)
}

// Parse reads the value of the annotation. Unknown fields are left to later versions; numbers that cannot be are refused.
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
	value, err := json.Marshal(r)
	if err != nil {
		panic(err) // three numbers and a string always marshal
	}
	return string(value)
}

// Next opens the epoch after r for a stop that keeps the Jobs, or that the controller marks on them by another number. base is
// the number of restarts charged so far. When r was opened for the same cause it is returned as it is, with false.
func (r Record) Next(cause string, base int32) (Record, bool) {
	if r.Cause == cause || r.Epoch == math.MaxInt32 {
		return r, false
	}
	return Record{Epoch: r.Epoch + 1, Base: base, Recreate: r.Recreate, Restarts: r.Restarts, Counted: r.Counted, Cause: cause}, true
}

// Follow opens the next epoch when a controller that opens none has recreated the Jobs: its status says restarts, of which counted count
// towards maxRestarts. charged is the number of restarts charged so far; those that count are added. It returns r, and false, if the
// controller has recreated nothing since r was opened.
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

// NextRecreate is Next for a fail-over: it makes the Jobs of all earlier epochs stale.
func (r Record) NextRecreate(cause string, base int32) (Record, bool) {
	next, opened := r.Next(cause, base)
	if opened {
		next.Recreate = next.Epoch
	}
	return next, opened
}

// OfJob gives the epoch that a Job or a pod was created in, by its annotations. Absent and unreadable numbers mean the first
// epoch: such a Job comes from a controller without epochs, hence from before them.
func OfJob(annotations map[string]string) int32 {
	number, err := strconv.ParseInt(annotations[Annotation], 10, 32)
	if err != nil || number < 1 {
		return 1
	}
	return int32(number)
}

// FormatNumber is the inverse of OfJob.
func FormatNumber(epoch int32) string { return strconv.FormatInt(int64(epoch), 10) }

// OfPod is the epoch of a pod that does not say it, by the time of its creation.
func (r Record) OfPod(created time.Time) int32 {
	if created.Unix() > r.After {
		return r.Epoch
	}
	return r.Epoch - 1
}

// Stale tells whether a fail-over has replaced a Job that was created in the given epoch.
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
