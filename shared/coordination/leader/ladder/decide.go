// Package ladder decides how to repair a slot that does not join a round, before the whole group is recreated. It is pure: its
// input is the slot's Job and newest pod, and the clock of the round.
//
//	the round opens      1/3 of inplace-timeout         2/3                                 inplace-timeout
//	|                    |                              |                                   |
//	|  pod has Succeeded: recreate the Job immediately  |                                   |
//	|                    |  worker will not run in time: recreate the pod                   |
//	|                    |                              |  recreate the Job, if it is small |  recreate the group
//
// The package keeps no state. A pod or Job that is being deleted, or is newer than the start of the round's clock, shows that the
// slot has already been repaired. A new leader restarts the clock.
package ladder

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/grace"
)

const (
	// podShare and jobShare are the shares of inplace-timeout after which a missing slot's pod and Job are recreated. An ordinary
	// restart fits into the first share. With the KEP-876 timeout of 60 s, the time between the two is enough for the Job
	// controller's ten-second back-off and the start of the new pod.
	podShare = 1.0 / 3
	jobShare = 2.0 / 3
	// SmallJob is the maximum number of pods in a Job that is recreated to repair one of them.
	SmallJob = 16
)

// Round is the restart in progress.
type Round struct {
	Clock   grace.Deadline // objects created after it started belong to the round
	Now     time.Time
	Size    int64 // number of slots in the group
	Missing int64 // number of slots that have not joined
}

// Slot is a slot that has not joined the round.
type Slot struct {
	Job       *workload.Job // nil if there is none
	Completed bool          // the Job counts the slot's index as completed
	Pod       *workload.Pod // the slot's newest pod, or nil
}

// Scope is how much is recreated.
type Scope string

const (
	None Scope = ""
	Pod  Scope = "pod"
	Job  Scope = "job"
)

// Action is what to delete, and why. Why completes a sentence that begins with the worker's name.
type Action struct {
	Scope Scope
	Why   string
}

// Decide returns what to do about a missing slot now.
func Decide(r Round, s Slot) Action {
	switch {
	case s.Job == nil || s.Job.Deleting || r.made(s.Job.Created):
		return Action{} // a new Job has been created or is coming
	case s.finished():
		return Action{Job, "exited 0 when it was stopped, so its Job considers it finished"}
	case r.RepairsIn() > 0:
		return Action{}
	case 2*r.Missing > r.Size: // individual slots are not the cause, and recreating them takes longer than recreating the group
		return Action{}
	}
	state, why := stateOf(s.Pod, r)
	if r.until(jobShare) <= 0 {
		return r.late(s, state, why)
	}
	if state == stuck && !r.made(s.Pod.Created) {
		return Action{Pod, why}
	}
	return Action{}
}

// late returns what to do in the last third of inplace-timeout. If there is no sign that the worker will return, its Job is recreated,
// provided that the Job has few other pods.
func (r Round) late(s Slot, state state, why string) Action {
	switch {
	case state == due || state == leaving:
		return Action{}
	case state == absent && r.Clock.Remaining(r.Now) < podBackoff(s.Job): // a new Job has no back-off
		return Action{Job, why + ", and its Job would create a new one too late"}
	case state == absent:
		return Action{}
	case state == starting && r.made(s.Pod.Created):
		return Action{}
	case s.Job.Pods <= SmallJob && s.Job.Pods < r.Size: // most of the group keeps running
		return Action{Job, why}
	case !r.made(s.Pod.Created) && state != starting:
		return Action{Pod, why}
	}
	return Action{}
}

// made reports whether an object was created in this round. The API server reports times in whole seconds.
func (r Round) made(created time.Time) bool {
	return !created.Before(r.Clock.Start.Truncate(time.Second))
}

// RepairsIn returns the time until individual slots are examined. It is not positive if they are examined now.
func (r Round) RepairsIn() time.Duration { return r.until(podShare) }

func (r Round) until(share float64) time.Duration {
	return time.Duration(float64(r.Clock.Period)*share) - r.Now.Sub(r.Clock.Start)
}

// finished reports whether the Job considers the slot finished and will not create another pod for it. A round still needs all
// slots.
func (s Slot) finished() bool {
	if s.Pod != nil && s.Pod.Phase == workload.Succeeded {
		return true
	}
	return s.Completed && (s.Pod == nil || s.Pod.Phase != workload.Running)
}

const (
	firstPodBackoff = 10 * time.Second
	maxPodBackoff   = 10 * time.Minute
)

// podBackoff returns the longest time that the Job controller waits before it replaces a pod: 10 s, doubled with each failure since
// the last success, up to 10 min.
func podBackoff(job *workload.Job) time.Duration {
	return min(firstPodBackoff<<min(max(job.Failures-1, 0), 10), maxPodBackoff)
}

// state is the state of a slot's newest pod, ordered from most to least likely to join.
type state int

const (
	running  state = iota // its containers are running, but the slot has not joined
	starting              // a container is being created, or the pod is not bound to a node yet
	due                   // a container will start again in time
	leaving               // it is being deleted
	absent                // there is no pod, or it has failed; the Job controller will create the next one
	stuck                 // no container will run in time
)

// settle is how long the kubelet may take to react when a container ends.
const settle = 5 * time.Second

// stateOf returns the worst state of the pod's containers, not counting sidecars, and a text that describes what is wrong.
func stateOf(pod *workload.Pod, r Round) (state, string) {
	switch {
	case pod == nil:
		return absent, "has no pod"
	case pod.Deleting:
		return leaving, "is in a pod that is being deleted"
	case pod.Phase == workload.Failed:
		return absent, "is in a pod that has failed"
	case len(pod.Containers) == 0:
		return starting, "has not been started"
	}
	worst, why := running, "is running but has not joined"
	for i := range pod.Containers {
		if s, text := stateOfContainer(&pod.Containers[i], r); s > worst {
			worst, why = s, text
		}
	}
	return worst, why
}

func stateOfContainer(c *workload.Container, r Round) (state, string) {
	switch {
	case c.Running:
		return running, ""
	case c.Exited != nil && r.Now.Sub(c.Exited.At) < settle:
		return due, "has just exited"
	case c.Exited != nil: // the kubelet would have restarted it, or reported a back-off
		return stuck, fmt.Sprintf("exited with code %d and was not started again", c.Exited.Code)
	case !c.Waiting:
		return starting, "is being started"
	}
	switch c.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return starting, "is being started"
	case "CrashLoopBackOff":
		return stateOfBackedOff(c, r)
	default:
		return stuck, "is waiting: " + c.Reason
	}
}

func stateOfBackedOff(c *workload.Container, r Round) (state, string) {
	_, rest, _ := strings.Cut(c.Message, "back-off ")
	text, _, _ := strings.Cut(rest, " ")
	wait, _ := backOffRule.Parse(text) // on an error, this is the default

	last := r.Now // if unknown, the latest possible time
	if t := c.Last; t != nil {
		last = t.At
	}
	start := last.Add(wait + wait/2) // the kubelet adds jitter
	if start.Before(r.Clock.Start.Add(r.Clock.Period)) {
		return due, "is in CrashLoopBackOff"
	}
	return stuck, fmt.Sprintf("is in CrashLoopBackOff with a delay of %s", wait)
}

// backOffRule parses the kubelet's "back-off 20s restarting failed container=...". Its default is the kubelet's maximum.
var backOffRule = grace.Rule{Name: "the kubelet's back-off", Default: 5 * time.Minute}
