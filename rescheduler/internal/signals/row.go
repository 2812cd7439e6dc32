package signals

import (
	"time"
)

// Trigger says for which workloads a row counts.
type Trigger string

const (
	Always    Trigger = "Always"    // for all that are managed
	Annotated Trigger = "Annotated" // for those that ask for it by schedulingRetries themselves
	Off       Trigger = "Off"
)

// Action is what a row allows.
type Action string

const (
	// Move: the node is excluded, and the pod leaves it: by eviction, or by its controller if it has failed.
	Move Action = "Move"
	// Record: the node is excluded for replacements, and the pod is left as it is.
	Record Action = "Record"
	// Never: the pod's trouble is not the node's; it is never moved while it lasts, whatever else is wrong with it.
	Never Action = "Never"
)

// Scope says whom an exclusion is for.
type Scope string

const (
	Workload Scope = "Workload" // all pods of the workload: the node cannot run them
	Slot     Scope = "Slot"     // the pod's identity, where it has one: others may run there
)

// Where is the part of a pod's status that a row is about.
type Where int

const (
	Phase      Where = iota // status.reason of a pod in phase Failed
	Disruption              // reason of the condition DisruptionTarget
	Container               // reason of a container that waits or has terminated
	Loop                    // a container that fails again and again
	Sandbox                 // no sandbox, network or volumes: the condition PodReadyToStartContainers
	Device                  // status of a container's device
	Handover                // the annotation of a supervisor that gives up on the node
	Repeat                  // a member of a group that is restarted in place on the same node
)

// Row is one kind of trouble. All but Name and what it matches can be changed by configuration.
type Row struct {
	Name    string
	Where   Where
	Reasons []string // any of them; one that ends in * is a prefix
	Message func(message string) bool
	Trigger Trigger
	Action  Action
	Scope   Scope
	// After is how long the trouble has to last.
	After time.Duration
	// Restarts of a container that are needed; for Loop and Repeat.
	Restarts int32
	// ExitCodes that count; empty: all but 0. For containers that terminated.
	ExitCodes []int32
	// TTL is how long the node is avoided the first time. 0: it is not.
	TTL time.Duration
	// Charged: it costs the workload one of its moves. What is not the pod's fault does not.
	Charged bool
	// Siblings: pods of the same template elsewhere have to speak against the node, or at least not for it.
	Siblings bool
	// Blame is the weight against the node.
	Blame int
}

// Instant reports whether the row needs no time and no other pods: it holds as soon as it is seen.
func (r Row) Instant() bool {
	return (r.Where == Phase || r.Where == Disruption) && r.After == 0 && r.Action != Never
}

// Excludes reports whether the row keeps replacements away from the node.
func (r Row) Excludes() bool { return r.Action != Never && r.TTL > 0 }
