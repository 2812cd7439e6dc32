package ladder

// Fault is what went wrong, as it is seen first.
type Fault string

// Faults.
const (
	ProcessEnded  Fault = "ProcessEnded"  // a worker exits, is killed, or makes no progress
	ContainerDied Fault = "ContainerDied" // its first process is gone: the kubelet starts the container again
	PodLost       Fault = "PodLost"       // deleted, evicted or failed, whoever did it
	CannotRun     Fault = "CannotRun"     // something about the node keeps the pod from running there, again and again
	Drained       Fault = "Drained"       // the node is to be emptied
	TimedOut      Fault = "TimedOut"      // a restart of the group did not end in time
	BudgetSpent   Fault = "BudgetSpent"   // maxRestarts are used up
	NodeBad       Fault = "NodeBad"       // the node is marked so that its pods have to leave: EVICT
)

// Faults lists them all.
var Faults = []Fault{ProcessEnded, ContainerDied, PodLost, CannotRun, Drained, TimedOut, BudgetSpent, NodeBad}
