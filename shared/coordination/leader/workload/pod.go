package workload

import "time"

// Pod is one pod.
type Pod struct {
	Name, UID  string
	Slot       string // that it says it is for
	Job        string // UID of the Job that controls it
	Generation int32  // of the group that it was made in
	Node       string // empty: none yet
	Version    string // of the object
	Created    time.Time
	Phase      Phase
	Reason     string // of the phase

	Deleting   bool
	Asked, Due time.Time // when its deletion was asked for, and when its grace is over
	Forced     bool      // it was deleted with a grace of nothing

	Scheduling *Scheduling // nil: the scheduler has not come to it
	Init       []Container
	Containers []Container
}

// Phase is the phase of a pod in the words of the API.
type Phase string

// The phases.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
)

// Scheduling is what the scheduler says of a pod.
type Scheduling struct {
	Done    bool
	At      time.Time
	Gated   bool
	Message string
}

// Container is one container of a pod.
type Container struct {
	Name     string
	Running  bool
	Since    time.Time // it runs
	Waiting  bool
	Reason   string // why it waits
	Message  string // likewise
	Exited   *Exit  // nil: it runs or waits
	Last     *Exit  // of the container before it
	Restarts int32
}

// Exit is how a container ended.
type Exit struct {
	Code    int32
	Message string // its last words
	At      time.Time
}

// Over reports whether nothing of a pod runs any more: its kubelet says so, it had never been given to one, or somebody took it
// away from its kubelet with a grace of nothing.
func (p *Pod) Over() bool {
	return p.Phase == Failed || p.Phase == Succeeded || (p.Deleting && (p.Node == "" || p.Forced))
}

// MayRun reports whether something of a pod may still run.
func (p *Pod) MayRun() bool { return !p.Over() && !p.Lost() }

// Lives reports whether a pod runs, or will, and nobody has deleted it.
func (p *Pod) Lives() bool { return p.state() == Held }

// Lost reports whether a pod that still exists can never again run its worker though that is needed: it has failed, it was taken
// from its kubelet by force, or its worker exited 0 because the pod was being deleted. A worker that finished before the deletion
// has finished.
func (p *Pod) Lost() bool {
	switch p.Phase {
	case Failed:
		return true
	case Succeeded:
		return p.stoppedByDeletion()
	}
	return p.Deleting && p.Forced
}

// LostWhenGone is Lost for a pod that has gone from the API: only a worker that had finished by itself leaves no gap.
func (p *Pod) LostWhenGone() bool { return p.Phase != Succeeded || p.stoppedByDeletion() }

// stoppedByDeletion: a container ended after the deletion was asked for.
func (p *Pod) stoppedByDeletion() bool {
	if !p.Deleting {
		return false
	}
	for i := range p.Containers {
		if exit := p.Containers[i].Exited; exit != nil && !exit.At.Before(p.Asked) {
			return true
		}
	}
	return false
}

// State is what the pods of one slot say together.
type State int

const (
	// Held: a pod of the slot lives, or may yet.
	Held State = iota
	// Ending: what is left is being deleted, and its worker may still run.
	Ending
	// Finished: the slot's worker has succeeded. What becomes of it is for its Job.
	Finished
	// Vacant: there is no pod, or none of which anything runs.
	Vacant
)

// StateOf looks at all pods of a slot, whichever Job made them: two workers of one slot never run at the same time. What lives
// wins over what ends, and that over what has finished.
func StateOf(pods []*Pod) State {
	state := Vacant
	for _, pod := range pods {
		state = min(state, pod.state())
	}
	return state
}

func (p *Pod) state() State {
	switch {
	case p.Phase == Succeeded:
		return Finished
	case p.Over():
		return Vacant
	case !p.Deleting:
		return Held
	}
	return Ending
}

// Outranks reports whether the Job controller would keep this pod of a slot rather than one that was just made and has no node: one that has
// a node, or was made before. Of two of the same second either may stay.
func (p *Pod) Outranks(made *Pod) bool {
	return p.state() == Held && (p.Node != "" || p.Created.Before(made.Created))
}
