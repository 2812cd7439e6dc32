package simulation

import (
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// Mutant replaces parts of what a history runs by broken ones, to show that the checks see it. The zero value runs
// everything as it is shipped.
type Mutant struct {
	Library string // the source of the store's functions; empty: as shipped
	Call    func(rounds.Call) rounds.Call
	Event   func(worker.Event) worker.Event
	Actions func([]worker.Action) []worker.Action
	Observe func(*leader.Observation)
	Plan    func(*leader.Observation, leader.Plan) leader.Plan

	BlindWrites  bool // the leader writes annotations without the compare-and-set
	DeleteFirst  bool // a fail-over deletes the Jobs before it writes the epoch
	AnyOwner     bool // a fail-over deletes Jobs by their epoch, whichever JobSet they are of
	SuspendFirst bool // a suspend stops the Jobs before it writes the epoch
	Blind        bool // the leader makes a new pod by what its cache says
	Hasty        bool // the leader makes a new pod while the old one ends
	CleansUp     bool // the controller deletes finished Jobs of a JobSet that has completed
}
