package coordination

// Phase is the phase of a group, under the name that conditions and metrics use.
type Phase string

const (
	Forming    Phase = "Forming"    // no step has entered yet, and the group is waiting for all slots of the first step to join
	Running    Phase = "Running"    // all slots of the entered steps are in sync
	Restarting Phase = "Restarting" // slots of the entered steps must join the desired round
	Terminal   Phase = "Terminal"   // a worker failed and no restarts are left; no worker is stopped
	Recreating Phase = "Recreating" // the group cannot recover in place; the leader recreates the Jobs
	Closed     Phase = "Closed"     // suspended
	Completed  Phase = "Completed"  // everything needed has finished; no worker restarts
)

// Phases lists all phases.
var Phases = []Phase{Forming, Running, Restarting, Terminal, Recreating, Closed, Completed}
