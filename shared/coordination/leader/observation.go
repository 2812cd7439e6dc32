package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/restart"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Observation is everything on which a plan is based, in addition to the memory of the group. Rules do not change it.
type Observation struct {
	Began time.Time // start of the reconcile
	Owner Owner
	Jobs  []workload.Job  // Jobs of the owner
	Pods  []*workload.Pod // pods that claim to be the owner's, from the cache
	Lost  []Loss          // losses seen since the last reconcile, ordered by slot
	Token coordination.Token
	// Incarnation is a new random name for each plan.
	Incarnation string

	Stored  *rounds.Stored // nil if the store has no readable group
	Foreign error          // why the data in the store is unreadable

	Reads Reads           // results of the reads that earlier plans of this reconcile requested
	Done  []Done          // results of their actions
	Spent map[string]bool // rules that have used their time in this reconcile; the rest is left for the next one

	keys map[string]bool // keys of the actions in Done
	pods *podIndex
}

// Owner is the object that has the group: what it wants, and what is written on it.
type Owner struct {
	UID, Name string
	Version   int64 // generation of its specification
	Deleted   bool
	Wanted    *group.Wanted // what it asks for; nil if it wants no group, or has a roster
	// Undecided: the first Job will show whether agents are added. An existing group does not change.
	Undecided bool
	Refused   string // why it has no group although it asks for one

	Epoch   epoch.Record
	Charged int32 // annotation inplace-restarts
	Counted bool  // the annotation is set: the group was opened before
	Budget  restart.Budget

	Timeout        time.Duration // of an in-place restart
	FormingTimeout time.Duration

	Annotations map[string]string // those of the ladder and of the history
	InSync      *Condition        // nil if it has none
	Recovering  *Condition

	// PolicyPrefix is the prefix of the causes of epochs that the failure policy has opened. PolicyCounted reports whether the
	// policy's last restart was counted.
	PolicyPrefix  string
	PolicyCounted bool

	Served *Served // nil if the owner's controller opens epochs and ends the owner itself

	// For an owner with a roster, which is led by the rules for rosters:
	HasRoster bool
	Roster    *roster.Roster // nil if it wants no group
	Report    *roster.Report // the last one written
}

// Served is set for an owner whose controller knows nothing about groups. The leader opens the epochs, and ends the owner when the
// budget is used up.
type Served struct {
	Installation string // name of this installation
	Claim        bool   // the owner is to be claimed for this installation
	// Alone: the owner is the only Job of its group. A full recreation deletes its pods, and no Job.
	Alone bool
	// Pods: the owner is a pod of the group. The group ends with it, and it cannot be marked as failed.
	Pods bool
	// Missed are the pods of such a group that have no agent. Conflict is another reason not to lead the group before it has run.
	Missed   []Missed
	Conflict string
	// Restarts and Counted are the recreations in the owner's status: all of them, and those that count towards maxRestarts.
	Restarts, Counted int32
}

// Missed is a pod without an agent.
type Missed struct {
	Pod *workload.Pod
	Why string
}

// Loss is a pod whose loss the watch has observed. A loss is permanent: a pod that is gone or has ended never comes back.
type Loss struct {
	Pod *workload.Pod // as last observed
	Gap bool          // the slot has no pod; otherwise the loss only triggers a reconcile
}

// Reads are the results of requested reads. A nil value was not requested.
type Reads struct {
	// Missing are the slots that have not joined, by unit, at MissingLevel.
	Missing      map[int][]string
	MissingLevel rounds.Level

	Holders  map[string]string // UID of the pod that holds a slot; empty: nobody does
	Finished map[string]bool   // slots whose workers have finished in the round
	History  []rounds.Line
	// HistoryRead: the history was read. An unreadable history counts as empty.
	HistoryRead, HistoryForeign bool

	Nodes map[string]Node
	// What the API server has now, by name. A nil value does not exist or could not be read.
	Pods map[string]*workload.Pod
	Jobs map[string]*workload.Job
	// Slots has all pods of a slot that the API server has now. Twins has those beside a pod that was created in this reconcile. A
	// list that could not be read is absent.
	Slots map[string]SlotRead
	Twins map[string]SlotRead
}

// SetHolder notes who holds a slot. The slot's pods have to be read after that: a pod that was created between the two reads would
// hold the slot and seem to be gone.
func (r *Reads) SetHolder(slot, pod string) {
	if r.Holders == nil {
		r.Holders = map[string]string{}
	}
	r.Holders[slot] = pod
	delete(r.Slots, slot)
}

// SlotRead is the list of a slot's pods in the API server.
type SlotRead struct {
	At     time.Time // when it was requested
	Pods   []*workload.Pod
	Failed bool // the list could not be read
}

// Node is the evidence of whether anything runs on a node.
type Node struct {
	Dead    string // why nothing runs there; empty if something may run
	Unready bool
	Failed  bool // the node could not be read
}

// recovery returns the recovery in progress according to the owner's annotation, or false if there is none or it is invalid.
func (o *Observation) recovery() (recovering.State, bool) {
	state, err := recovering.Parse(o.Owner.Annotations[recovering.Annotation])
	return state, err == nil
}

// recoveryLevel returns the recovery level at which this group restarts: that of processes if all agents are supervisors.
func (o *Observation) recoveryLevel() int {
	for i := range o.Jobs {
		if o.Jobs[i].Sidecar {
			return recovering.LevelGroup
		}
	}
	return recovering.LevelProcess
}

// podIndex finds pods by their slots.
type podIndex struct {
	bySlot map[string][]*workload.Pod
	newest map[string]*workload.Pod
}

// index returns the index of the pods. It is built on first use, because pods are listed once in a reconcile. A pod that was just
// lost counts as the newest pod of its slot until there is a newer one.
func (o *Observation) index() *podIndex {
	if o.pods == nil {
		o.pods = &podIndex{make(map[string][]*workload.Pod, len(o.Pods)), make(map[string]*workload.Pod, len(o.Pods))}
		for _, lost := range o.Lost {
			o.pods.addNewest(lost.Pod)
		}
		for _, pod := range o.Pods {
			o.pods.bySlot[pod.Slot] = append(o.pods.bySlot[pod.Slot], pod)
			o.pods.addNewest(pod)
		}
	}
	return o.pods
}

func (x *podIndex) addNewest(pod *workload.Pod) {
	if known := x.newest[pod.Slot]; known == nil || !pod.Created.Before(known.Created) {
		x.newest[pod.Slot] = pod
	}
}
