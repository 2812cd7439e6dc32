package ladder

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

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
func stateOf(pod *corev1.Pod, r Round) (state, string) {
	switch {
	case pod == nil:
		return absent, "has no pod"
	case !pod.DeletionTimestamp.IsZero():
		return leaving, "is in a pod that is being deleted"
	case pod.Status.Phase == corev1.PodFailed:
		return absent, "is in a pod that has failed"
	case len(pod.Status.ContainerStatuses) == 0:
		return starting, "has not been started"
	}
	worst, why := running, "runs but has not joined"
	for i := range pod.Status.ContainerStatuses {
		if s, text := stateOfContainer(&pod.Status.ContainerStatuses[i], r); s > worst {
			worst, why = s, text
		}
	}
	return worst, why
}

func stateOfContainer(c *corev1.ContainerStatus, r Round) (state, string) {
	switch {
	case c.State.Running != nil:
		return running, ""
	case c.State.Terminated != nil:
		return stateOfEnded(c.State.Terminated, r)
	case c.State.Waiting == nil:
		return starting, "is being started"
	}
	switch waiting := c.State.Waiting; waiting.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return starting, "is being started"
	case "CrashLoopBackOff":
		return stateOfBackedOff(c, r)
	default:
		return stuck, "waits: " + waiting.Reason
	}
}

// stateOfEnded: the kubelet replaces an exited container at once or says that it backs off.
func stateOfEnded(t *corev1.ContainerStateTerminated, r Round) (state, string) {
	if r.Now.Sub(t.FinishedAt.Time) < settle {
		return due, "has just exited"
	}
	return stuck, fmt.Sprintf("exited with code %d and was not started again", t.ExitCode)
}

func stateOfBackedOff(c *corev1.ContainerStatus, r Round) (state, string) {
	wait := backOff(c.State.Waiting.Message)
	last := r.Now // unknown: the latest it can have been
	if t := c.LastTerminationState.Terminated; t != nil {
		last = t.FinishedAt.Time
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
