package coordination

import (
	"strconv"
	"strings"
)

// Stage is a set of slots: `Jobs` child Jobs of `Pods` pods each. Slot names are Prefix-JOB-POD, with both indexes
// from 0: what the seed's manifest builds from the JobSet's name, the replicated job's name and the two indexes.
type Stage struct {
	Prefix  string
	Jobs    int64
	Pods    int64
	Step    int64 // stages of the same step start together; steps are numbered from 0 in the order they start in
	Release Release
}

// Release says until when a finished worker that waits at a barrier is held, because a restart makes it run again.
type Release string

const (
	ReleaseHeld   Release = ""       // until all that is needed has finished
	ReleaseNeeded Release = "needed" // likewise, and it is among what is needed
	ReleaseGate   Release = "gate"   // until its whole stage has finished, which others wait for; needed as well
	ReleaseFree   Release = "free"   // not at all
)

// Slots is the number of slots of a stage.
func (s Stage) Slots() int64 { return s.Jobs * s.Pods }

// Slot is the name of a slot of the stage.
func (s Stage) Slot(job, pod int64) string {
	return s.Prefix + "-" + strconv.FormatInt(job, 10) + "-" + strconv.FormatInt(pod, 10)
}

// Has tells whether the slot belongs to the stage.
func (s Stage) Has(slot string) bool {
	indexes, found := strings.CutPrefix(slot, s.Prefix+"-")
	job, pod, both := strings.Cut(indexes, "-")
	return found && both && isIndex(job, s.Jobs) && isIndex(pod, s.Pods)
}

// isIndex tells whether a text is the one way to write a number below n.
func isIndex(text string, n int64) bool {
	index, err := strconv.ParseInt(text, 10, 64)
	return err == nil && index >= 0 && index < n && strconv.FormatInt(index, 10) == text
}
