package coordination

import (
	"strconv"
	"strings"
)

// Stage is a set of slots, one for each pod of its child Jobs. Slot names are Prefix-JOB-POD; both indexes start at 0. The manifest in
// JobSet KEP-876 builds them from the names of the JobSet and the replicatedJob and the two indexes.
type Stage struct {
	Prefix  string
	Jobs    int64 // number of child Jobs
	Pods    int64 // number of pods in each Job
	Step    int64 // stages of the same step start together; steps are numbered from 0 in start order
	Release Release
}

// Release is how long a finished worker is held at a barrier. If the group restarts, a held worker runs again.
type Release string

const (
	ReleaseHeld   Release = ""       // until all required workers have finished
	ReleaseNeeded Release = "needed" // the same, and the stage counts as needed
	ReleaseGate   Release = "gate"   // until the whole stage has finished, because other stages wait for it; also counts as needed
	ReleaseFree   Release = "free"   // not held
)

// Slots returns the number of slots of a stage.
func (s Stage) Slots() int64 { return s.Jobs * s.Pods }

// Slot returns the name of a slot in the stage.
func (s Stage) Slot(job, pod int64) string {
	return s.Prefix + "-" + strconv.FormatInt(job, 10) + "-" + strconv.FormatInt(pod, 10)
}

// Has reports whether the slot belongs to the stage.
func (s Stage) Has(slot string) bool {
	indexes, found := strings.CutPrefix(slot, s.Prefix+"-")
	job, pod, both := strings.Cut(indexes, "-")
	return found && both && isIndex(job, s.Jobs) && isIndex(pod, s.Pods)
}

// Spares takes the place of the Job index in the names of spares.
const Spares = "spares"

// Spare returns the name of the n-th spare of a stage. No slot has this name.
func (s Stage) Spare(n int64) string { return s.Prefix + "-" + Spares + "-" + strconv.FormatInt(n, 10) }

// HasSpare reports whether the name belongs to a spare of the stage.
func (s Stage) HasSpare(name string) bool {
	index, found := strings.CutPrefix(name, s.Prefix+"-"+Spares+"-")
	return found && isIndex(index, MaxCount)
}

// isIndex reports whether the text is the canonical form of a number below n.
func isIndex(text string, n int64) bool {
	index, err := strconv.ParseInt(text, 10, 64)
	return err == nil && index >= 0 && index < n && strconv.FormatInt(index, 10) == text
}

// Placeholders for values that depend on the slot, in the environment and arguments of a worker's program. They are used if a pod can work
// in any slot of its stage. The supervisor replaces them when it starts the worker.
const (
	PlaceholderJob    = "__holdfast_job_index__"        // index of the Job in its replicatedJob
	PlaceholderPod    = "__holdfast_completion_index__" // completion index of the pod in the Job
	PlaceholderGlobal = "__holdfast_job_global_index__" // index of the Job in the JobSet
	PlaceholderGroup  = "__holdfast_job_group_index__"  // index of the Job in its group of replicatedJobs
)

// Position holds the indexes of a slot.
type Position struct{ Job, Pod, Global, Group int64 }

// PositionOf returns the position of a slot, given how many Jobs precede the first Job of its stage in the JobSet (global) and in the
// group of replicatedJobs (group). It returns false for a name without indexes, such as the name of a spare.
func PositionOf(slot string, global, group int64) (Position, bool) {
	words := strings.Split(slot, "-")
	if len(words) < 3 {
		return Position{}, false
	}
	job, err := strconv.ParseInt(words[len(words)-2], 10, 64)
	pod, other := strconv.ParseInt(words[len(words)-1], 10, 64)
	if err != nil || other != nil {
		return Position{}, false
	}
	return Position{Job: job, Pod: pod, Global: global + job, Group: group + job}, true
}

// Fill replaces the placeholders in a text.
func (p Position) Fill(text string) string {
	return strings.NewReplacer(
		PlaceholderJob, strconv.FormatInt(p.Job, 10), PlaceholderPod, strconv.FormatInt(p.Pod, 10),
		PlaceholderGlobal, strconv.FormatInt(p.Global, 10), PlaceholderGroup, strconv.FormatInt(p.Group, 10),
	).Replace(text)
}
