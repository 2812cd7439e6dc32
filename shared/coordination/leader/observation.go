package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/restart"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Observation is all that a plan rests on, beside the memory of the group. Rules do not change it.
type Observation struct {
	Began time.Time // of the reconcile
	Owner Owner
	Jobs  []workload.Job  // of the owner
	Pods  []*workload.Pod // that say they are the owner's, as the cache has them
	Lost  []Loss          // that were seen since the last reconcile, ordered by slot
	Token coordination.Token
	// Incarnation is a random name that was never used before, another one for each plan.
	Incarnation string

	Stored  *rounds.Stored // nil: the store holds no readable group
	Foreign error          // what the store holds is unreadable

	Reads Reads           // what earlier plans of this reconcile have asked for
	Done  []Done          // what became of their actions
	Spent map[string]bool // rules that have had their time in this reconcile; the rest is for the next one

	keys map[string]bool // of what was done
	pods *podIndex
	mark parsedMark
}

// Owner is the object that has the group: what it wants, and what is written on it.
type Owner struct {
	UID, Name string
	Version   int64 // of its specification
	Deleted   bool
	Wanted    *Wanted // nil: it wants no group, or speaks by a roster
	// Undecided: whether agents are added is for its first Job to say. A group that is there stays as it is.
	Undecided bool
	Refused   string // why it has no group, though it asks for one

	Epoch   epoch.Record
	Charged int32 // annotation inplace-restarts
	Counted bool  // that annotation is there: the group was opened before
	Budget  restart.Budget

	Timeout        time.Duration // of a restart in place
	FormingTimeout time.Duration

	Annotations map[string]string // those of the ladder and of the history
	InSync      *Condition        // nil: it has none
	Recovering  *Condition

	// PolicyPrefix begins the causes of epochs that the failure policy has opened; PolicyCounted reports whether its last restart was counted.
	PolicyPrefix  string
	PolicyCounted bool

	Served *Served // nil: the owner's controller opens epochs and ends the owner itself

	// An owner that says by a roster who is in the group is led by the rules for rosters.
	HasRoster bool
	Roster    *roster.Roster // nil: it wants no group
	Report    *roster.Report // that was written last
}

// Wanted is the group that an owner asks for.
type Wanted struct {
	Stages    []coordination.Stage
	Suspended bool
	Barrier   bool          // workers wait until their unit is started, and finished ones are held
	MaxPause  time.Duration // bounds how long workers wait when restarts end early
	Finished  []string      // slots whose workers have finished
}

// Served is an owner whose controller knows nothing of groups. The leader opens the epochs, and ends the owner when the budget is spent.
type Served struct {
	Installation string // this one
	Claim        bool   // the owner is to be claimed for this installation
	// Alone: the owner is itself the only Job of its group. A full recreation deletes its pods, and no Job is deleted.
	Alone bool
	// Pods: the owner is a pod of the group. The group ends with it, and nobody can fail it.
	Pods bool
	// Missed are the pods of such a group that have no agent. Conflict says what else keeps it from being led before it has run.
	Missed   []Missed
	Conflict string
	// Restarts and Counted are the recreations in the owner's status: all, and those that count towards maxRestarts.
	Restarts, Counted int32
}

// Missed is a pod without an agent.
type Missed struct {
	Pod *workload.Pod
	Why string
}

// Loss is a pod that the watch has seen to be lost. What was seen stays true: a pod that is gone, or has ended, never comes back.
type Loss struct {
	Pod *workload.Pod // as it was last seen
	Gap bool          // it leaves a gap; else it is only a reason to look
}

// Reads are the answers to what plans have asked for. A nil value was not asked for.
type Reads struct {
	// Missing are the slots that have not joined, by unit, at a level.
	Missing      map[int][]string
	MissingLevel rounds.Level

	Holders  map[string]string // UID of the pod that holds a slot
	Finished map[string]bool   // slots whose workers have finished in the round
	History  []rounds.Line
	// HistoryRead: the history was read; unreadable is as good as empty.
	HistoryRead, HistoryForeign bool

	Nodes map[string]Node
	// What the API server has now: by name; a nil value is not there, or could not be read.
	Pods map[string]*workload.Pod
	Jobs map[string]*workload.Job
	// Slots are all pods of a slot that the API server has now; Twins those beside a pod that was created in this reconcile. An unreadable
	// list is not there.
	Slots map[string]SlotRead
	Twins map[string]SlotRead
}

// SlotRead are the pods of a slot, as the API server has them.
type SlotRead struct {
	Pods   []*workload.Pod
	Failed bool // they could not be read
}

// Node is the evidence of what runs on a node.
type Node struct {
	Dead    string // why nothing runs there any more; empty: something may
	Unready bool
	Failed  bool // it could not be read
}

// parsedMark is the owner's mark of a recovery in progress. Most plans of a reconcile read the same text.
type parsedMark struct {
	text  string
	state recovering.State
	valid bool
}

// recovery is what the owner's annotation says of a recovery in progress; false if there is none or it is invalid.
func (o *Observation) recovery() (recovering.State, bool) {
	if text := o.Owner.Annotations[recovering.Annotation]; text != o.mark.text {
		state, err := recovering.Parse(text)
		o.mark = parsedMark{text, state, err == nil}
	}
	return o.mark.state, o.mark.valid
}

// recoveryLevel at which this group restarts: that of processes if all agents are supervisors.
func (o *Observation) recoveryLevel() int {
	for i := range o.Jobs {
		if o.Jobs[i].Sidecar {
			return recovering.RungGroup
		}
	}
	return recovering.RungProcess
}

// tried reports whether an action was tried in this reconcile.
func (o *Observation) tried(a Action) bool { return o.keys[a.key()] }

// note keeps an action that was tried.
func (o *Observation) note(d Done) {
	if o.keys == nil {
		o.keys = map[string]bool{}
	}
	o.Done = append(o.Done, d)
	if key := d.key(); key != "" {
		o.keys[key] = true
	}
}

// podIndex finds pods by their slots.
type podIndex struct {
	bySlot map[string][]*workload.Pod
	newest map[string]*workload.Pod
}

// index of the pods, made when it is asked for: pods are listed once in a reconcile. A pod that was just lost stands for its slot until a newer one
// is there.
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
