package coordination

import (
	"strconv"
	"strings"
)

// Placeholders for values that depend on the slot, in the environment and arguments of a worker's program. They are used if a pod may work
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
	rest, pod, _ := cutLast(slot)
	_, job, found := cutLast(rest)
	p, err := strconv.ParseInt(pod, 10, 64)
	j, other := strconv.ParseInt(job, 10, 64)
	if !found || err != nil || other != nil {
		return Position{}, false
	}
	return Position{Job: j, Pod: p, Global: global + j, Group: group + j}, true
}

func cutLast(text string) (before, after string, found bool) {
	at := strings.LastIndexByte(text, '-')
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+1:], true
}

// Fill replaces the placeholders in a text.
func (p Position) Fill(text string) string {
	if !strings.Contains(text, "__holdfast_") {
		return text
	}
	return strings.NewReplacer(
		PlaceholderJob, strconv.FormatInt(p.Job, 10), PlaceholderPod, strconv.FormatInt(p.Pod, 10),
		PlaceholderGlobal, strconv.FormatInt(p.Global, 10), PlaceholderGroup, strconv.FormatInt(p.Group, 10),
	).Replace(text)
}
