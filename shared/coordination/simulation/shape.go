package simulation

import (
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// Shape describes a kind of history: a JobSet, its possible faults, and how long they last.
type Shape struct {
	Name    string
	Entries []Entry
	Budget  int32         // maxRestarts
	Timeout time.Duration // inplace-timeout
	Forming time.Duration // forming-timeout
	Grace   time.Duration // time between the signal and the kill
	// RemoveStopped is the agent setting with the same name.
	RemoveStopped bool
	Progress      worker.Progress // progress required from workers with a supervisor
	Relays        int64           // number of members that share a relay; 0 if there are no relays
	Faults        []Chance
	Most          int           // maximum number of faults in a history, which has at least one
	Horizon       time.Duration // the last fault happens before this time
	Start         time.Duration // the first fault happens after this time
	Neutral       bool          // no fault of this shape affects a worker, so no worker may be stopped (S12)
	InPlace       bool          // no fault of this shape requires a recreation, so there must not be one (L2)
}

// Entry is a replicatedJob.
type Entry struct {
	Name   string
	Jobs   int64
	Pods   int64
	Driver Driver
	Spares int64 // number of pods without a slot, in a Job of their own; only with the exec driver
	Step   int64 // its Jobs are created once all pods of earlier steps are running
	// Release is how long finished workers are held.
	Release coordination.Release
}

// Driver is how the agent controls its worker.
type Driver string

// Drivers.
const (
	CRI  Driver = "cri"  // a sidecar; the kubelet restarts the container
	Exec Driver = "exec" // a supervisor in the worker's container, with a barrier
)

// Chance is a kind of fault, with its weight relative to the other kinds.
type Chance struct {
	Kind   Kind
	Weight int
}

// jobSetName is the name of the JobSet in every history.
const jobSetName = "js"

func (e Entry) stage() coordination.Stage {
	return coordination.Stage{Prefix: jobSetName + "-" + e.Name, Jobs: e.Jobs, Pods: e.Pods, Step: e.Step, Release: e.Release}
}

func stagesOf(entries []Entry) []coordination.Stage {
	var stages []coordination.Stage
	for _, e := range entries {
		stages = append(stages, e.stage())
	}
	return stages
}

// sparesJob is used as the index of the spare Job.
const sparesJob = -1

// jobs returns the indexes of an entry's Jobs.
func (e Entry) jobs() []int64 {
	var indexes []int64
	for index := range e.Jobs {
		indexes = append(indexes, index)
	}
	if e.Spares > 0 {
		indexes = append(indexes, sparesJob)
	}
	return indexes
}

// seatsOf returns the names of a Job's pods, which are the names of slots or of spares.
func (e Entry) seatsOf(index int64) []string {
	var names []string
	if index == sparesJob {
		for n := range e.Spares {
			names = append(names, e.stage().Spare(n))
		}
		return names
	}
	for n := range e.Pods {
		names = append(names, e.stage().Slot(index, n))
	}
	return names
}

func (e Entry) jobName(index int64) string {
	if index == sparesJob {
		return fmt.Sprintf("%s-%s-spares", jobSetName, e.Name)
	}
	return fmt.Sprintf("%s-%s-%d", jobSetName, e.Name, index)
}
