// Package workload describes Jobs and pods in plain types, for every kind of owner.
package workload

import (
	"strconv"
	"strings"
	"time"
)

// Job is what creates the pods of some slots.
type Job struct {
	Name, UID string
	Stage     string // prefix of the stage of its slots
	// Generation is the generation of the group in which it was created.
	Generation int32
	// Current: it belongs to the current attempt of its owner, and has not been deleted.
	Current, Deleting, Suspended bool
	Over                         bool   // it creates no more pods: it has finished, or is about to
	LedBy                        string // installation that prepared its pods; empty if none did, or for the owner's own controller
	Created                      time.Time
	Started                      time.Time // when it was created or last resumed; zero if unknown
	Pods                         int64     // number of pods that run at a time
	Failures                     int32     // pods that have failed since the last success

	Spares   bool   // its pods are spares, which have no slots
	Sidecar  bool   // its agents restart containers from outside; otherwise they restart processes
	Findable bool   // its pods can be found again by their labels
	Worker   string // name of the container that joins; empty if unknown
	Store    string // store address in its pods; empty if unknown

	// NoPods is why only the Job controller may create pods for it; empty if other programs may.
	NoPods    string
	MadePods  bool // it has created all of its pods once
	Indexes   int  // number of its indexes
	Completed Indexes
	Failed    Indexes // permanently
}

// Indexes is a set of completion indexes, as inclusive ranges.
type Indexes [][2]int

// Has reports whether an index is in the set.
func (s Indexes) Has(index int) bool {
	for _, r := range s {
		if r[0] <= index && index <= r[1] {
			return true
		}
	}
	return false
}

// Refusal returns why no other program may create a pod of a Job at an index, or "" if it may. A pod in a suspended or finished Job
// would be deleted again at best.
func (j *Job) Refusal(index int) string {
	switch {
	case j.NoPods != "":
		return j.NoPods
	case index < 0 || index >= j.Indexes:
		return "its Job has no such completion index"
	case j.Completed.Has(index) || j.Failed.Has(index):
		return "its Job has finished with it"
	case !j.MadePods:
		return "its Job is about to make its pods"
	}
	return ""
}

// Slot returns the slot of an index.
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
