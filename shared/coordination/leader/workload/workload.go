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
	Stage     string // prefix of the stage of its slots
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

	// NoPods says why only the Job controller may create pods for it; empty if other programs may do so, too.
	NoPods    string
	MadePods  bool // the Job controller has created all of its pods once
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

// Refusal returns why programs other than the Job controller must not create a pod for an index of a Job, or "" if they may. A pod
// created for a suspended or finished Job would at best be deleted again.
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
