package policy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Decision is what to do about a job. The caller first writes the status, then carries out the rest.
type Decision struct {
	// Status is the new status, which contains Memory. The caller sets the generation, the selector and the rendezvous.
	Status *v1alpha1.ElasticJobStatus
	Memory Memory

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
	// After is the delay until the next reconcile if no event arrives. 0 means never.
	After time.Duration
}

// Deletion is the deletion of a pod. Force skips the grace period, because the kubelet cannot confirm the deletion.
type Deletion struct {
	Index int
	UID   types.UID
	Force bool
}

// Event is an event to emit. Type is Normal or Warning. Pod is the name of the related pod, if any.
type Event struct{ Type, Pod, Reason, Note string }

// Cause is the cause of a fault.
type Cause string

// Causes of faults, as counted in metrics.
const (
	CauseProgram    Cause = "program"
	CauseDisruption Cause = "disruption"
)

// Reasons of events and of disruptions. Events also use the reasons of conditions.
const (
	EventExited      = "ExitedWithCode"
	EventDisrupted   = "WorkerDisrupted"
	EventAbandoned   = "WorkerAbandoned"
	EventGivenBack   = "SurplusGivenBack"
	EventBelowMin    = "TooFewWorkers"
	EventInPlace     = "InPlaceRestart"
	EventNotInPlace  = "InPlaceNotPossible"
	reasonDeleted    = "it was deleted"
	reasonNodeLost   = "its node is lost"
	reasonTerminated = "it was terminated externally"
	reasonServerLost = "it lost the rendezvous server"
)

// Facts is the input of a decision.
type Facts struct {
	Now             time.Time
	Namespace, Name string // of the job
	Settings        Settings
	// Pods contains the job's worker pods by index.
	Pods map[int]Pod
	// Status is the last written status, and Memory contains the decisions recorded in it.
	Status  v1alpha1.ElasticJobStatus
	Memory  Memory
	InPlace InPlace
	// Rendezvous is the state of the managed rendezvous. It is zero if the user runs the rendezvous.
	Rendezvous Rendezvous
}

// Pod is the observed state of a worker pod.
type Pod struct {
	UID         types.UID
	Phase       corev1.PodPhase // empty means pending
	Ready       bool
	Terminating bool
	Bound       bool // to a node
	Created     time.Time
	Node        NodeState
	// LostAt is when a node that is not ready will be considered lost. It is zero for all other nodes.
	LostAt time.Time
	// Disruption describes how the pod was disrupted. It is empty if it was not.
	Disruption string
	// ExceededLimits means that the pod was evicted because it exceeded its own limits. It counts as a failure of the program.
	ExceededLimits bool
	// ExitCode is the exit code of a failed pod, or -1 if it is unknown.
	ExitCode int32
	// ExitReason is why the container failed, such as OOMKilled.
	ExitReason string
	// Began and Finished are when the failed container started and finished. They are zero if no container has failed.
	Began, Finished time.Time
	// Supervised means that a supervisor can restart the program in place.
	Supervised bool
	// Restarts is the number of container restarts.
	Restarts int32
}

// Rendezvous is the observed state of the managed rendezvous.
type Rendezvous struct {
	Managed bool
	// Started is when the server started. It is zero while the server is not running.
	Started time.Time
	// Incomplete describes why the workers have not completed a round. It is empty if they have completed one, or if this is
	// unknown.
	Incomplete string
}

// NodeState is the state of a pod's node.
type NodeState int

// Node states.
const (
	// NodeOK is also used for pods that are not bound to a node.
	NodeOK NodeState = iota
	// NodeDraining means that the node is cordoned or has a taint that the pod does not tolerate.
	NodeDraining
	// NodeLost means that the node does not exist or was not ready for too long.
	NodeLost
)

// running reports whether the worker can train.
func (p Pod) running() bool {
	return p.Phase == corev1.PodRunning && !p.Terminating && p.Node != NodeLost
}

// pending reports whether the pod has not started running.
func (p Pod) pending() bool { return p.Phase != corev1.PodRunning && !p.terminated() }

// terminated reports whether all containers of the pod have terminated.
func (p Pod) terminated() bool { return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed }
