package simulation

import (
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// Mutant replaces parts of a history's code by broken ones, to show that the checks detect them. The zero value runs everything as
// shipped.
type Mutant struct {
	Library string // source of the store's functions; as shipped if empty
	Call    func(rounds.Call) rounds.Call
	Event   func(worker.Event) worker.Event
	Actions func([]worker.Action) []worker.Action
	Observe func(*leader.Observation)
	Plan    func(*leader.Observation, leader.Plan) leader.Plan

	Batch   func(rounds.Call) rounds.Call // a relay's call for several members
	Replies func([]reply)                 // the replies to it
	Loyal   bool                          // a member never leaves its relay

	BlindWrites  bool // the leader writes annotations without the compare-and-set
	DeleteFirst  bool // a full recreation deletes the Jobs before it writes the epoch
	AnyOwner     bool // a full recreation deletes Jobs by their epoch, of any JobSet
	SuspendFirst bool // a suspend stops the Jobs before it writes the epoch
	Blind        bool // the leader creates a new pod based on its cache
	Hasty        bool // the leader creates a new pod while the old one is ending
	CleansUp     bool // the controller deletes finished Jobs of a completed JobSet
}
