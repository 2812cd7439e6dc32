package simulation

import (
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// Mutant replaces parts of the code with broken variants, to show that the checks detect them. The zero value runs the shipped
// code.
type Mutant struct {
	Library string // source of the store's functions; default is the shipped library
	Call    func(rounds.Call) rounds.Call
	Event   func(worker.Event) worker.Event
	Actions func([]worker.Action) []worker.Action
	Observe func(*leader.Observation)
	Plan    func(*leader.Observation, leader.Plan) leader.Plan

	Batch   func(rounds.Call) rounds.Call // changes a relay's call for several members
	Replies func([]reply)                 // changes the replies to that call
	Loyal   bool                          // members never leave their relay

	BlindWrites  bool // the leader writes annotations without the compare-and-set
	DeleteFirst  bool // a full recreation deletes the Jobs before it writes the epoch
	AnyOwner     bool // a full recreation deletes stale Jobs of any JobSet
	SuspendFirst bool // suspending stops the Jobs before it writes the epoch
	Blind        bool // the leader creates new pods based on its cache
	Hasty        bool // the leader creates new pods while the old ones are terminating
	CleansUp     bool // the controller deletes finished Jobs of a completed JobSet
}
