package leader

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/restart"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Observation is everything that a plan is based on, in addition to the group's Memory. Rules do not change it.
type Observation struct {
	Began time.Time // start of the reconcile
	Owner Owner
	Jobs  []*workload.Job // Jobs of the owner
	Pods  []*workload.Pod // pods that claim to belong to the owner, from the cache
	Lost  []Loss          // losses observed since the last reconcile, ordered by slot
	// Missed lists the pods without an agent if the group is declared by its pods. Conflict, if not empty, is another reason not to
	// manage such a group as long as it has not run.
	Missed   []Missed
	Conflict string
	Token    coordination.Token
	// Incarnation is a random name, newly generated for each plan.
	Incarnation string

	Stored  *rounds.Stored // nil if the store has no readable group
	Foreign error          // why the data in the store is unreadable

	Reads Reads           // results of the reads that earlier plans of this reconcile requested
	Done  []Done          // results of the actions of earlier plans
	Spent map[string]bool // rules that have used up their time in this reconcile and continue in the next one

	keys map[string]bool // keys of the actions in Done
	pods *podIndex
}

// Owner is the object that owns the group: what it asks for, and what is recorded on it.
type Owner struct {
	UID, Name string
	Version   int64 // generation of its specification
	Deleted   bool
	Wanted    *group.Wanted // the group that it asks for; nil if it wants no group or has a roster
	// Undecided means that it is unknown whether pods get agents until the first Job exists. Until then, an existing group is left
	// unchanged.
	Undecided bool
	Refused   string // why it gets no group although it asks for one

	Epoch   epoch.Record
	Charged int32 // the inplace-restarts annotation
	Counted bool  // the annotation is set, which means that the group was opened before
	Budget  restart.Budget

	Timeout        time.Duration // timeout of an in-place restart
	FormingTimeout time.Duration

	Annotations map[string]string // annotations used by the recovery ladder and the history
	InSync      *Condition        // nil if it has none
	Recovering  *Condition

	// PolicyPrefix is the prefix of an epoch's cause if the failure policy opened the epoch. PolicyCounted reports whether the
	// policy's last restart counted against the budget.
	PolicyPrefix  string
	PolicyCounted bool

	Served *Served // nil if the owner's controller opens epochs and fails the owner itself

	// For owners with a roster, to which the rules for rosters apply:
	HasRoster bool
	Roster    *roster.Roster // nil if it wants no group
	Report    *roster.Report // the last report written
}

// Served is set for an owner whose controller does not know about groups. The leader then opens the epochs, and fails the owner
// when the budget is used up.
type Served struct {
	Installation string // name of this installation
	Claim        bool   // whether to claim the owner for this installation
	// Alone means that the owner is the only Job of its group. A full recreation then deletes its pods instead of Jobs.
	Alone bool
	// Pods means that the owner is a pod of the group. The group ends when that pod does, and the pod cannot be marked as failed.
	Pods bool
	// Restarts and Counted are the numbers of recreations in the owner's status: all of them, and those that count towards
	// maxRestarts.
	Restarts, Counted int32
}

// Missed is a pod that was created without an agent.
type Missed struct {
	Pod *workload.Pod
	Why string
}

// Loss is a pod loss that the watch has observed. It is permanent: a pod that is gone or has ended never comes back.
type Loss struct {
	Pod *workload.Pod // as last observed
	Gap bool          // the slot has lost its pod; otherwise the loss only triggers a reconcile
}

// Reads are the results of requested reads. A nil map was not requested.
type Reads struct {
	// Missing holds the slots that had not joined at MissingLevel, by unit.
	Missing      map[int][]string
	MissingLevel rounds.Level

	Holders  map[string]string // UID of the pod that holds a slot; empty if no pod holds it
	Finished map[string]bool   // slots whose workers have finished in the round
	History  []rounds.Line
	// HistoryRead means that the history was read. An unreadable history is treated as empty; HistoryForeign is then set.
	HistoryRead, HistoryForeign bool

	Nodes map[string]Node
	// The current state in the API server, by name. A nil value means that the object does not exist or could not be read.
	Pods map[string]*workload.Pod
	Jobs map[string]*workload.Job
	// Slots holds all of a slot's pods that are currently in the API server.
	Slots map[string]SlotRead
}

// SetHolder records which pod holds a slot. The slot's pods must be read after that, because otherwise a pod created between the
// two reads would hold the slot but appear to be gone.
func (r *Reads) SetHolder(slot, pod string) {
	if r.Holders == nil {
		r.Holders = map[string]string{}
	}
	r.Holders[slot] = pod
	delete(r.Slots, slot)
}

// SlotRead is the list of a slot's pods in the API server.
type SlotRead struct {
	At     time.Time // when the list was requested
	Pods   []*workload.Pod
	Failed bool // the list could not be read
}

// Node holds the evidence about whether anything is still running on a node.
type Node struct {
	Dead    string // why nothing is running there; empty if something may be running
	Unready bool
	Failed  bool // the node could not be read
}

// podIndex finds pods by their slots.
type podIndex struct {
	bySlot map[string][]*workload.Pod
	newest map[string]*workload.Pod
}

// index returns the pod index. It is built once, on first use, because the pods are listed once per reconcile. A pod that was just
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
