// Package signals detects abnormal states of a pod. It has a table of them, with one row for each kind of failure, and returns the rows that
// a pod matches. Package policy decides what to do about a match. The package does no I/O.
//
// Source of the reasons: the kubelet's admission handlers, its eviction and shutdown managers and its container states (Kubernetes 1.36).
package signals

import (
	"time"
)

// Trigger selects the workloads to which a row applies.
type Trigger string

const (
	Always    Trigger = "Always"    // all managed workloads
	Annotated Trigger = "Annotated" // workloads that set schedulingRetries themselves
	Off       Trigger = "Off"
)

// Action is what a row allows.
type Action string

const (
	// Move excludes the node and moves the pod: by eviction, or by its controller if the pod has failed.
	Move Action = "Move"
	// Record excludes the node for replacements and leaves the pod as it is.
	Record Action = "Record"
	// Never forbids moving the pod while the signal lasts, whatever else is wrong, because the node is not at fault.
	Never Action = "Never"
)

// Scope is the set of pods to which an exclusion applies.
type Scope string

const (
	Workload Scope = "Workload" // all pods of the workload, because the node cannot run them
	Slot     Scope = "Slot"     // pods of the same slot, if the pod has one; others may run there
)

// Where is the part of the pod status that a row matches.
type Where int

const (
	Phase      Where = iota // status.reason of a pod in phase Failed
	Disruption              // reason of the condition DisruptionTarget
	Container               // reason of a container that waits or has terminated
	Loop                    // a container in a crash loop
	Sandbox                 // the condition PodReadyToStartContainers: no sandbox, network or volumes
	Device                  // status of a container's device
	Handover                // the annotation of a supervisor that gives up on the node
	Repeat                  // a member of a group that keeps restarting in place on the same node
)

// Row is one kind of failure. The configuration can change all fields but Name and what the row matches.
type Row struct {
	Name    string
	Where   Where
	Reasons []string // any of these; a reason that ends in * is a prefix
	Message func(message string) bool
	Trigger Trigger
	Action  Action
	Scope   Scope
	// After is how long the signal must last.
	After time.Duration
	// Restarts is the minimum number of restarts of a container, for Loop and Repeat.
	Restarts int32
	// ExitCodes are the exit codes of terminated containers that count; empty means all but 0.
	ExitCodes []int32
	// TTL is how long the node is excluded after the first failure; 0 means not at all.
	TTL time.Duration
	// Charged means that the workload is charged for the move. It is false where the pod is not at fault.
	Charged bool
	// Siblings means that pods of the same template on other nodes are evidence for or against the node.
	Siblings bool
	// Blame is the weight of the complaint about the node.
	Blame int
}

// Instant reports whether the row needs neither time nor other pods, so that it applies at once.
func (r Row) Instant() bool {
	return (r.Where == Phase || r.Where == Disruption) && r.After == 0 && r.Action != Never
}

// Excludes reports whether replacements avoid the node.
func (r Row) Excludes() bool { return r.Action != Never && r.TTL > 0 }
