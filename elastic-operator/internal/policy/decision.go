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

// Decision is what to do about a job. The caller first writes the status (Memory, Conditions and counts), then acts on the rest.
type Decision struct {
	Memory     Memory
	Conditions []Condition
	State      v1alpha1.State
	Message    string
	Counts     v1alpha1.ReplicaStatus
	// Replicas is the number of pods that have not terminated. Ready is the number of ready workers.
	Replicas, Ready int32
	// Abandoned workers are no longer replaced.
	Abandoned indexes.Set

	// Delete lists the pods to delete. The caller deletes them before it creates pods.
	Delete []Deletion
	// Create lists the workers that need a pod.
	Create []int
	// Services lists the workers that need a service. If KeepServices is true, services are neither created nor deleted.
	Services     indexes.Set
	KeepServices bool
	// Rendezvous reports whether the managed rendezvous server is needed.
	Rendezvous bool
	// Recovering is the recovery to announce on the job, or nil.
	Recovering *recovering.State
	// Roster is the group of workers that restart in place together, or nil.
	Roster *roster.Roster
	// RemoveJob means that the TTL of the finished job has passed.
	RemoveJob bool

	// Events are emitted, and Faults are counted in metrics, after the status was written.
	Events []Event
	Faults []Cause
	// After is when to reconcile again without an event. 0 means never.
	After time.Duration
}

// Deletion is the deletion of a pod. Force skips the grace period, because the kubelet cannot confirm the deletion.
type Deletion struct {
	Index int
	UID   types.UID
	Force bool
}

// Condition is a condition to set.
type Condition struct {
	Type    v1alpha1.JobConditionType
	Status  metav1.ConditionStatus
	Reason  string
	Message string
	// Always adds the condition even if it is False and was never True.
	Always bool
}

// Event is an event to emit. Pod is the name of the related pod, if any.
type Event struct {
	Warning              bool
	Reason, Action, Note string
	Pod                  string
}

// Cause is the cause of a fault.
type Cause string

// Causes of faults, as counted in metrics.
const (
	CauseProgram    Cause = "program"
	CauseDisruption Cause = "disruption"
)

// Reasons and actions of events, and reasons of disruptions. Events also use the reasons of conditions.
const (
	EventExited      = "ExitedWithCode"
	EventDisrupted   = "WorkerDisrupted"
	EventAbandoned   = "WorkerAbandoned"
	EventGivenBack   = "SurplusGivenBack"
	EventBelowMin    = "TooFewWorkers"
	EventInPlace     = "InPlaceRestart"
	EventNotInPlace  = "InPlaceNotPossible"
	actionReplace    = "ReplaceWorker"
	actionRestart    = "RestartWorkers"
	actionAbandon    = "AbandonWorker"
	actionScale      = "Scale"
	actionWait       = "Wait"
	actionFinish     = "Finish"
	actionSuspend    = "Suspend"
	actionResume     = "Resume"
	reasonDeleted    = "it was deleted"
	reasonNodeLost   = "its node is lost"
	reasonTerminated = "it was terminated externally"
	reasonServerLost = "it lost the rendezvous server"
)
