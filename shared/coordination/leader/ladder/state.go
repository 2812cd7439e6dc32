package ladder

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// state is what becomes of a slot's newest pod, in rising order of hopelessness.
type state int

const (
	running  state = iota // its containers run, but the slot has not joined
	starting              // a container is being created, or the pod is not bound yet
	due                   // a container starts again within the time that is left
	leaving               // it is being deleted
	absent                // there is none, or a failed one: the Job controller makes the next
	stuck                 // no container will run in time
)

// settle is how long the kubelet may take from the end of a container to what comes next.
const settle = 5 * time.Second

// stateOf is the worst state of the pod's containers; sidecars are not looked at. The text says what is wrong.
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
	worst, why := running, "runs but has not joined"
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
	case c.Exited != nil:
		return stateOfEnded(c.Exited, r)
	case !c.Waiting:
		return starting, "is being started"
	}
	switch c.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return starting, "is being started"
	case "CrashLoopBackOff":
		return stateOfBackedOff(c, r)
	default:
		return stuck, "waits: " + c.Reason
	}
}

// stateOfEnded: the kubelet replaces an exited container at once or says that it backs off.
func stateOfEnded(t *workload.Exit, r Round) (state, string) {
	if r.Now.Sub(t.At) < settle {
		return due, "has just exited"
	}
	return stuck, fmt.Sprintf("exited with code %d and was not started again", t.Code)
}

func stateOfBackedOff(c *workload.Container, r Round) (state, string) {
	wait := backOff(c.Message)
	last := r.Now // unknown: the latest it can have been
	if t := c.Last; t != nil {
		last = t.At
	}
	start := last.Add(wait + wait/2) // the kubelet's jitter
	if start.Before(r.Clock.Start.Add(r.Clock.Period)) {
		return due, "waits in CrashLoopBackOff"
	}
	return stuck, fmt.Sprintf("waits in CrashLoopBackOff for %s", wait)
}

// backOffRule reads the kubelet's "back-off 20s restarting failed container=...". What cannot be read is its maximum.
var backOffRule = grace.Rule{Name: "the kubelet's back-off", Default: 5 * time.Minute}

func backOff(message string) time.Duration {
	_, rest, _ := strings.Cut(message, "back-off ")
	text, _, _ := strings.Cut(rest, " ")
	wait, _ := backOffRule.Parse(text) // an error leaves the default
	return wait
}
