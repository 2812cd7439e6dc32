package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Wanted is what a JobSet asks for.
type Wanted struct {
	Stages    []coordination.Stage
	Suspended bool
	Barrier   bool          // workers wait until their unit is started, and finished ones are held
	MaxPause  time.Duration // bounds how long workers wait when restarts end early
	Finished  []string      // slots whose workers have finished
	// For a group that the store has lost:
	Entered int64    // steps whose workers have run in this generation
	Fenced  []string // UIDs of pods that were released from their slots
}

// Input is all a decision rests on.
type Input struct {
	Wanted  *Wanted        // nil: the JobSet wants no group (no annotation, no agent, finished, being deleted)
	Stored  *rounds.Stored // nil: the store holds no readable group
	Foreign bool           // what the store holds is unreadable
	Epoch   epoch.Record
	Charged int32 // annotation inplace-restarts
	Counted bool  // that annotation is there: the group was opened before
	Budget  restart.Budget
	Overdue bool // the round in progress has used up its time
	Mark    Mark
	// For what is written into the store:
	Token       coordination.Token
	Incarnation string // a random name that was never used before
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
	WriteGroup   Kind = "Write"        // create, resize, suspend, resume or complete it, move it to the next generation, or give its restart up
	RestoreEpoch Kind = "RestoreEpoch" // the annotation is behind the store: write it again
	Charge       Kind = "Charge"       // raise inplace-restarts to what happened
	WriteMark    Kind = "Mark"         // bring the mark up to date, without a charge
	FailOver     Kind = "FailOver"     // write the next epoch; the Jobs of the epochs before are then stale
)

// Step is one thing to do.
type Step struct {
	Kind    Kind
	Write   group.Write  // WriteGroup
	Charged int32        // Charge, FailOver: the new value of inplace-restarts
	Epoch   epoch.Record // FailOver, RestoreEpoch
	Mark    bool         // Charge, WriteMark: whether the JobSet is marked after it; FailOver puts that of a recreation in its place
}
