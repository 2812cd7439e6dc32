package coordination

// Phase is the phase of a group as conditions and metrics name it.
type Phase string

const (
	Forming    Phase = "Forming"    // no step has entered yet, and the group waits for all slots of the first step to join
	Running    Phase = "Running"    // all slots of the entered steps are in sync
	Restarting Phase = "Restarting" // slots of the entered steps must join the desired round
	Terminal   Phase = "Terminal"   // a worker failed and no restart is left; no worker is stopped
	Recreating Phase = "Recreating" // not recoverable in place; the leader recreates the Jobs
	Closed     Phase = "Closed"     // suspended
	Completed  Phase = "Completed"  // everything needed has finished; no worker restarts
)

// Phases are all phases.
var Phases = []Phase{Forming, Running, Restarting, Terminal, Recreating, Closed, Completed}
