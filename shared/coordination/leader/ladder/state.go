package ladder

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/grace"
)

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
