package coordination

// Phase is what a group is doing, in the words of conditions and metrics.
type Phase string

const (
	Forming    Phase = "Forming"    // no step has entered yet: waits for all slots of the first one to join
	Running    Phase = "Running"    // all slots of the steps that have entered are in sync
	Restarting Phase = "Restarting" // slots that have entered are to join the desired round
	Terminal   Phase = "Terminal"   // a worker failed and no restart is left; nobody is killed
	Recreating Phase = "Recreating" // not recoverable in place; the leader recreates the Jobs
	Closed     Phase = "Closed"     // suspended
	Completed  Phase = "Completed"  // all that is needed has finished; nobody is restarted any more
)
