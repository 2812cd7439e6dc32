// Package workload holds what a plan knows of Jobs and pods, in plain types, whatever kind of object makes them.
package workload

import (
	"strconv"
	"strings"
	"time"
)

// Job is what makes the pods of some slots.
type Job struct {
	Name, UID string
	Stage     string // prefix of the stage that its slots are of
	// Generation of the group that it was created in.
	Generation int32
	// Current: it is of the current attempt of its owner, and nobody has deleted it.
	Current, Deleting, Suspended bool
	Over                         bool   // it makes no more pods: it has finished, or is about to
	LedBy                        string // installation that prepared its pods; empty: none did, or the owner's own controller
	Created                      time.Time
	Started                      time.Time // when it was created or resumed last; zero: not known
	Pods                         int64     // that run at a time
	Failures                     int32     // pods that have failed since the last success

	Sidecar  bool   // its agents restart containers, from outside of them; else processes
	Findable bool   // its pods can be found again by their labels
	Worker   string // name of the container that joins; empty: not known
	Store    string // address of the store that its pods are given; empty: not known

	// NoPods says why nobody else may make pods for it; empty: somebody may.
	NoPods    string
	MadePods  bool // it has had all of its pods
	Indexes   int  // that it has
	Completed Indexes
	Failed    Indexes // for good
}

// Indexes is a set of completion indexes, as ranges with both ends.
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

// Refusal says why a Job is to have no pod at an index that somebody else makes; "" if it may. A pod in a Job that is suspended or has
// finished would be deleted again at best.
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

// Slot is the slot of an index.
func (j *Job) Slot(index int) string { return j.Name + "-" + strconv.Itoa(index) }

// JobOf is the name of the Job that a slot belongs to, and the slot's completion index.
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
