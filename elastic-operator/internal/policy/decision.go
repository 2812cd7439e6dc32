package policy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Decision is what is to be done, and why. Memory, conditions and numbers are written first, then the rest is done.
type Decision struct {
	Memory     Memory
	Conditions []Condition
	State      v1alpha1.State
	Message    string
	Counts     v1alpha1.ReplicaStatus
	// Replicas have a pod that has not ended; Ready ones are ready.
	Replicas, Ready int32
	// Dead workers are the abandoned ones.
	Dead indexes.Set

	// Delete these pods, then Create pods for these indexes.
	Delete []Deletion
	Create []int
	// Services of these workers are wanted, unless LeaveServices says that they stay as they are.
	Services      indexes.Set
	LeaveServices bool
	// Rendezvous is wanted, if it is managed.
	Rendezvous bool
	// Recovering is what the job says of itself while workers are being replaced; nil at all other times.
	Recovering *recovering.State
	// Roster of those who are restarted in place together; nil: there is no such group.
	Roster *roster.Roster
	// RemoveJob: its time after the end is over.
	RemoveJob bool

	// Events and Faults happen once the memory has been written.
	Events []Event
	Faults []Cause
	// After is when to reconcile again if nothing happens; 0: no need.
	After time.Duration
}

// Deletion of a pod. Force means that no kubelet is there to confirm it.
type Deletion struct {
	Index int
	UID   types.UID
	Force bool
	Why   string
}

// Condition that holds now.
type Condition struct {
	Type    v1alpha1.JobConditionType
	Status  metav1.ConditionStatus
	Reason  string
	Message string
	// Always said, also if it was never true.
	Always bool
}

// Event to be emitted. Pod is the name of the pod that it is about, if there is one.
type Event struct {
	Warning              bool
	Reason, Action, Note string
	Pod                  string
}

// Cause of the end of a worker.
type Cause string

// Causes, as they are counted.
const (
	CauseProgram    Cause = "program"
	CauseDisruption Cause = "disruption"
)

// Reasons of events beside those of conditions.
const (
	EventExited      = "ExitedWithCode"
	EventDisrupted   = "WorkerDisrupted"
	EventGivenUp     = "WorkerGivenUp"
	EventGivenBack   = "SurplusGivenBack"
	EventBelowMin    = "TooFewWorkers"
	EventInPlace     = "InPlaceRestart"
	EventNotInPlace  = "InPlaceNotPossible"
	actionReplace    = "ReplaceWorker"
	actionRestart    = "RestartWorkers"
	actionGiveUp     = "GiveUpWorker"
	actionScale      = "Scale"
	actionWait       = "Wait"
	actionFinish     = "Finish"
	actionSuspend    = "Suspend"
	actionResume     = "Resume"
	reasonDeleted    = "it was deleted"
	reasonNodeLost   = "its node is lost"
	reasonEndedAlone = "it was ended from outside"
	reasonServerLost = "it lost the rendezvous server"
)
