package policy

import (
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Facts is what is known when a decision is made about one pod.
type Facts struct {
	Now      time.Time
	Pod      Pod
	Workload Workload
	Node     Node
	// Match is what is wrong; Since is filled in.
	Match signals.Match
	// Siblings are the other pods of the same template.
	Siblings Siblings
	Config   *settings.Rescheduling
}

// Pod is the pod that something is wrong with.
type Pod struct {
	Name    string
	UID     string
	Created time.Time
	// Failed: it has ended, and its controller replaces it. Nothing has to be evicted.
	Failed bool
	// Bare means that no controller replaces the pod.
	Bare bool
	// Slot is its identity in the workload, if it has one.
	Slot string
	// Protected is why it is never moved: a mirror pod, a DaemonSet's, a critical one. Empty: it is not.
	Protected string
	// Pinned is what keeps it on its node: spec.nodeName by its owner, a node selector, a local volume. Empty: nothing.
	Pinned string
	// Placed: Kueue has chosen the node by topology. An exclusion would leave it without any.
	Placed bool
	// Gang is a name that all pods share that live and die together. Empty: none.
	Gang string
	// Whole: the gang is disrupted as a whole only.
	Whole bool
}

// Workload is the owner that remembers.
type Workload struct {
	Name    string
	Retries int
	Memory  memory.Memory
	// GangMoved is when a pod of the gang was moved last.
	GangMoved time.Time
	// Recovering is until when a program on a lower rung has the workload; zero: none has.
	Recovering time.Time
	// Recovered is when it was found to have it no more, after the pod had waited for that; zero: it has not.
	Recovered time.Time
}

// Node is where the pod is.
type Node struct {
	Name, UID string
	// Others reports whether the pod could go to another node, beside those excluded already.
	Others bool
	// MemoryPressure: the kubelet says that the node is short of memory.
	MemoryPressure bool
	// Tainted: this program keeps new pods away from it by a taint.
	Tainted bool
}
