package policy

import (
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Facts are the input of a decision about one pod.
type Facts struct {
	Now      time.Time
	Pod      Pod
	Workload Workload
	Node     Node
	// Match is the signal that the pod matches, with Since set.
	Match signals.Match
	// Siblings are the other pods of the same template.
	Siblings Siblings
	Config   *settings.Rescheduling
}

// Pod is the abnormal pod.
type Pod struct {
	Name    string
	UID     string
	Created time.Time
	// Failed means that the pod has ended and its controller replaces it, so it need not be evicted.
	Failed bool
	// Bare means that no controller replaces the pod.
	Bare bool
	// Slot is the identity of the pod in the workload; empty if it has none.
	Slot string
	// Protected is why the pod is never moved, such as a mirror pod, a pod of a DaemonSet, or a critical pod. It is empty for other pods.
	Protected string
	// Pinned is what ties the pod to its node, such as spec.nodeName set by its owner, a node selector, or a local volume; empty if nothing
	// does.
	Pinned string
	// Placed means that Kueue has chosen the node by topology. An exclusion would leave the pod without a node.
	Placed bool
	// Group is the group of pods that start and fail together; empty if there is none.
	Group string
	// Whole means that the group may only be disrupted as a whole.
	Whole bool
}

// Workload is the owner that holds the memory.
type Workload struct {
	Name    string
	Retries int
	Memory  memory.Memory
	// GroupMoved is when a pod of the group was last moved.
	GroupMoved time.Time
	// Recovering is until when a program at a lower recovery level handles the workload; zero if none does.
	Recovering time.Time
	// Recovered is when the recovery that the pod waited for was observed to be over; zero if it is not.
	Recovered time.Time
}

// Node is the pod's node.
type Node struct {
	Name, UID string
	// Others reports whether the pod could run on another node that is not excluded.
	Others bool
	// MemoryPressure means that the kubelet reports the node as short of memory.
	MemoryPressure bool
	// Tainted means that this program has tainted the node.
	Tainted bool
}
