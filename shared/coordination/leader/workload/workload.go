// Package workload describes Jobs and pods as plain types, for all kinds of owners.
package workload

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Job is a Job that creates pods for slots of the group.
type Job struct {
	Name, UID string
	Stage     string // prefix of its slots' stage
	// Generation is the group's generation in which the Job was created.
	Generation int32
	// Current means that it belongs to its owner's current attempt and is not being deleted.
	Current, Deleting, Suspended bool
	Over                         bool   // it has finished or is about to, and will not create more pods
	LedBy                        string // installation that prepared its pods; empty if none did or if the owner's own controller did
	Created                      time.Time
	Started                      time.Time // when it was created or last resumed; zero if unknown
	Pods                         int64     // number of pods that run at the same time
	Failures                     int32     // pods that have failed since the last success

	Spares   bool   // its pods are spares, which have no slots of their own
	Sidecar  bool   // its agents are sidecars that restart containers; otherwise they restart processes
	Findable bool   // its pods can be found by their labels
	Worker   string // name of the container that joins the group; empty if unknown
	Store    string // store address that its pods use; empty if unknown

	Reserved  bool // only the Job controller may create pods for it
	MadePods  bool // the Job controller has created all of its pods at least once
	Indexes   int  // number of completion indexes
	Completed Indexes
	Failed    Indexes // indexes that have failed permanently
}

// Indexes is a set of completion indexes, stored as inclusive ranges.
type Indexes [][2]int

// Has reports whether an index is in the set.
func (s Indexes) Has(index int) bool {
	return slices.ContainsFunc(s, func(r [2]int) bool { return r[0] <= index && index <= r[1] })
}

// Accepts reports whether programs other than the Job controller may create a pod for one of the Job's indexes. A pod created for a
// suspended or finished Job would at best be deleted again.
func (j *Job) Accepts(index int) bool {
	open := j.MadePods && !j.Reserved && !j.Deleting && !j.Suspended && !j.Over
	return open && index >= 0 && index < j.Indexes && !j.Ended(index)
}

// Ended reports whether one of the Job's indexes has completed or failed permanently.
func (j *Job) Ended(index int) bool { return j.Completed.Has(index) || j.Failed.Has(index) }

// Slot returns the slot for an index.
func (j *Job) Slot(index int) string { return j.Name + "-" + strconv.Itoa(index) }

// JobOf returns the name of the Job that a slot belongs to, and the slot's completion index.
func JobOf(slot string) (job string, index int) {
	cut := strings.LastIndexByte(slot, '-')
	if cut < 0 {
		return "", -1
	}
	index, err := strconv.Atoi(slot[cut+1:])
	if err != nil {
		index = -1
	}
	return slot[:cut], index
}

// Pod is one pod.
type Pod struct {
	Name, UID  string
	Slot       string // the pod's own slot, or its name as a spare
	Given      string // the slot assigned to it, according to its annotation; empty if there is none
	Waits      bool   // created for a slot that is assigned to another pod, so it waits until it is assigned a slot
	Job        string // UID of the Job that owns it
	Generation int32  // generation of the group in which it was created
	Node       string // empty if it has not been scheduled
	Version    string // resource version
	Created    time.Time
	Phase      Phase
	Reason     string // reason for the phase

	Deleting   bool
	Asked, Due time.Time // when its deletion was requested, and when its grace period ends
	Forced     bool      // it was deleted with a grace period of 0

	Scheduling *Scheduling // nil if the scheduler has not reported on it yet
	Init       []Container
	Containers []Container
}

// Phase is a pod's phase in the API.
type Phase string

const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
)

// Scheduling is a pod's scheduling condition.
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
	Since    time.Time // when it was started, if it is running
	Waiting  bool
	Reason   string // why it is waiting
	Message  string // details of the reason
	Exited   *Exit  // nil if it is running or waiting
	Last     *Exit  // how its previous instance exited
	Restarts int32
}

// Exit describes how a container ended.
type Exit struct {
	Code    int32
	Message string // the termination message
	At      time.Time
}

// Over reports whether nothing in a pod is running anymore: the kubelet has reported that, the pod was deleted before it was bound
// to a node, or it was force-deleted.
func (p *Pod) Over() bool {
	return p.Phase == Failed || p.Phase == Succeeded || (p.Deleting && (p.Node == "" || p.Forced))
}

// MayRun reports whether something in a pod may be running or may still be started.
func (p *Pod) MayRun() bool { return !p.Over() && !p.Lost() }

// Lives reports whether a pod is running or will run, and is not being deleted.
func (p *Pod) Lives() bool { return p.state() == Held }

// Lost reports whether an existing pod can no longer run its worker although the worker has not finished: the pod has failed or was
// force-deleted, or the worker exited with code 0 because the pod was being deleted. If the worker exited with code 0 before the
// deletion, it has finished.
func (p *Pod) Lost() bool {
	switch p.Phase {
	case Failed:
		return true
	case Succeeded:
		return p.stoppedByDeletion()
	}
	return p.Deleting && p.Forced
}

// LostWhenGone is like Lost, but for a pod that has been removed from the API: the pod is lost unless its worker had finished.
func (p *Pod) LostWhenGone() bool { return p.Phase != Succeeded || p.stoppedByDeletion() }

// stoppedByDeletion reports whether a container ended after the deletion was requested.
func (p *Pod) stoppedByDeletion() bool {
	return p.Deleting && slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Exited != nil && !c.Exited.At.Before(p.Asked) })
}

// State is the combined state of a slot's pods.
type State int

const (
	// Held means that a pod of the slot is live.
	Held State = iota
	// Ending means that the remaining pods are being deleted and the worker may still be running.
	Ending
	// Finished means that the slot's worker has succeeded. The rest is up to its Job.
	Finished
	// Vacant means that there is no pod, or that nothing is running in any of the pods.
	Vacant
)

// StateOf returns the combined state of all of a slot's pods, regardless of which Job created them, because two workers for one
// slot must never run at the same time. Held takes precedence over Ending, and Ending over Finished.
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
