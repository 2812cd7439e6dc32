package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Wanted is what a JobSet asks for.
type Wanted struct {
	Stages    []coordination.Stage
	Suspended bool
	Done      []string      // slots that have finished, for a store that lost its data
	MaxDelay  time.Duration // bounds how long workers wait when restarts end early
}

// Input is all a decision rests on.
type Input struct {
	Wanted  *Wanted               // nil: the JobSet wants no group (no annotation, no agent, finished, being deleted)
	Group   *coordination.Summary // nil: the store holds none
	Foreign bool                  // what the store holds is unreadable
	Epoch   epoch.Record
	Charged int32 // annotation inplace-restarts
	Counted bool  // that annotation is there: the group was opened before
	Budget  restart.Budget
	Overdue bool // the round in progress has used up its time
	Mark    Mark
	Opened  bool // this reconcile has opened the group already: what it was told is known
}

// Mark is the annotation by which higher rungs of the ladder are asked to wait (package recovering).
type Mark int

const (
	Unmarked Mark = iota
	Marked        // ours, and its deadline is ahead
	Outdated      // unreadable, or its deadline has passed
)

// Kind names a step.
type Kind string

const (
	Nothing      Kind = ""
	Drop         Kind = "Drop"         // remove the group from the store
	OpenGroup    Kind = "Open"         // create, resize, suspend, resume, or move to the next epoch
	RestoreEpoch Kind = "RestoreEpoch" // the annotation is behind the store: write it again
	Charge       Kind = "Charge"       // raise inplace-restarts to what happened
	GiveUp       Kind = "GiveUp"       // the round is out of time: no more restart in place
	WriteMark    Kind = "Mark"         // bring the mark up to date, without a charge
	FailOver     Kind = "FailOver"     // write the next epoch; the Jobs of the epochs before are then stale
)

// Step is one thing to do.
type Step struct {
	Kind    Kind
	Open    coordination.Open // OpenGroup, without token and incarnation
	Charged int32             // Charge, FailOver: the new value of inplace-restarts
	Epoch   epoch.Record      // FailOver, RestoreEpoch
	Mark    bool              // Charge, WriteMark: whether the JobSet is marked after it; FailOver puts that of a recreation in its place
}
