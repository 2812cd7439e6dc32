package workload

import "time"

// Pod is one pod.
type Pod struct {
	Name, UID  string
	Slot       string // the slot that it claims, or the name of a spare
	Given      string // the slot that it was given, as its annotation says; empty if there is none
	Waits      bool   // created for a slot that was given to another pod: it waits until it is given a slot
	Job        string // UID of the Job that controls it
	Generation int32  // generation of the group in which it was created
	Node       string // empty if it has none yet
	Version    string // resource version
	Created    time.Time
	Phase      Phase
	Reason     string // reason of the phase

	Deleting   bool
	Asked, Due time.Time // when its deletion was requested, and when its grace period ends
	Forced     bool      // it was deleted with a grace period of 0

	Scheduling *Scheduling // nil if the scheduler has not handled it yet
	Init       []Container
	Containers []Container
}

// Phase is the phase of a pod in the API.
type Phase string

// The phases.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
)

// Scheduling is the scheduler's condition of a pod.
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
	Since    time.Time // when it was started, if it runs
	Waiting  bool
	Reason   string // why it waits
	Message  string // more about that
	Exited   *Exit  // nil if it runs or waits
	Last     *Exit  // exit of the container before it
	Restarts int32
}

// Exit is how a container ended.
type Exit struct {
	Code    int32
	Message string // its last words
	At      time.Time
}

// Over reports whether a pod no longer runs anything: its kubelet reports that, the pod was never bound to a node, or it was
// force-deleted.
func (p *Pod) Over() bool {
	return p.Phase == Failed || p.Phase == Succeeded || (p.Deleting && (p.Node == "" || p.Forced))
}

// MayRun reports whether something in a pod may still run.
func (p *Pod) MayRun() bool { return !p.Over() && !p.Lost() }

// Lives reports whether a pod runs, or will run, and has not been deleted.
func (p *Pod) Lives() bool { return p.state() == Held }

// Lost reports whether an existing pod can never run its worker again although the worker is needed: the pod has failed, it was
// force-deleted, or its worker exited with code 0 because the pod was being deleted. A worker that finished before the deletion has
// finished.
func (p *Pod) Lost() bool {
	switch p.Phase {
	case Failed:
		return true
	case Succeeded:
		return p.stoppedByDeletion()
	}
	return p.Deleting && p.Forced
}

// LostWhenGone is Lost for a pod that is gone from the API: only a worker that had finished by itself is not lost.
func (p *Pod) LostWhenGone() bool { return p.Phase != Succeeded || p.stoppedByDeletion() }

// stoppedByDeletion reports whether a container ended after the deletion was requested.
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

// State is the combined state of the pods of one slot.
type State int

const (
	// Held: a pod of the slot lives, or may still run.
	Held State = iota
	// Ending: the remaining pods are being deleted, and the worker may still run.
	Ending
	// Finished: the slot's worker has succeeded. The rest is up to its Job.
	Finished
	// Vacant: there is no pod, or nothing runs in any of them.
	Vacant
)

// StateOf returns the state of all pods of a slot, whichever Job created them: two workers of one slot never run at the same time.
// Held wins over Ending, and Ending over Finished.
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

// Outranks reports whether, of two pods of a slot, the Job controller keeps this pod rather than one that was just created and has
// no node: this pod has a node, or is older. If both were created in the same second, it may keep either.
func (p *Pod) Outranks(made *Pod) bool {
	return p.state() == Held && (p.Node != "" || p.Created.Before(made.Created))
}
