package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// Facts is all that a decision rests on.
type Facts struct {
	Now time.Time
	// Namespace and Name of the job.
	Namespace, Name string
	Settings        Settings
	// Pods of workers by index. A pod that is not ours is not among them.
	Pods map[int]Pod
	// Memory is what was decided before.
	Memory Memory
	// Reported is what was said of the workers before. It stands once the job has ended, whatever becomes of the pods.
	Reported v1alpha1.ReplicaStatus
	// InPlace is the job's request for restarts in place, and the report of its group.
	InPlace InPlace
	// Rendezvous is the state of the managed rendezvous; zero for a rendezvous of the user.
	Rendezvous Rendezvous
	// Deleted: the job is on its way out, and the garbage collector with it.
	Deleted bool
}

// Pod of a worker, as far as it matters.
type Pod struct {
	UID         types.UID
	Phase       Phase
	Ready       bool
	Terminating bool
	// Bound to a node.
	Bound   bool
	Created time.Time
	Node    NodeState
	// LostAt is when the node will count as lost, if it is in doubt; zero otherwise.
	LostAt time.Time
	// Disruption is what disrupted the pod; empty: nothing.
	Disruption string
	// Overran its own limits, and was evicted for that: its program's fault, whatever restarts it.
	Overran bool
	// ExitCode of the program, of a pod that has failed; -1 if no container says one.
	ExitCode int32
	// ExitReason, such as OOMKilled.
	ExitReason string
	// Began and Finished are the times of the container that has failed; zero if none has.
	Began, Finished time.Time
	// Supervised: its program is restarted in place.
	Supervised bool
	// Restarts of containers within the pod.
	Restarts int32
}

// Rendezvous is what is known of the managed rendezvous.
type Rendezvous struct {
	Managed bool
	// Started is when the server started; zero while it does not run.
	Started time.Time
	// Unmet says why the workers do not train; empty if they do, or if that is unknown.
	Unmet string
}

// Phase of a pod.
type Phase int

// Phases of a pod.
const (
	Pending Phase = iota
	Running
	Succeeded
	Failed
)

// NodeState is what is known of the node of a pod.
type NodeState int

// States of a node.
const (
	// NodeFine, or the pod has none.
	NodeFine NodeState = iota
	// NodeDraining: somebody empties it, or means to. A pod like this one would not come to it.
	NodeDraining
	// NodeLost: it is gone, or was not ready for too long.
	NodeLost
)

// running: the worker can train.
func (p Pod) running() bool {
	return p.Phase == Running && !p.Terminating && p.Node != NodeLost
}

// over: nothing of it runs any more.
func (p Pod) over() bool { return p.Phase == Succeeded || p.Phase == Failed }
