package forming

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// Kind is what a worker waits for, in one word. It is a label of a metric.
type Kind string

const (
	Turn        Kind = "turn"        // its Job is missing or suspended
	NoPod       Kind = "pod"         // its Job has not created its pod
	Leaving     Kind = "leaving"     // its pod is being deleted
	Gated       Kind = "gated"       // its pod has scheduling gates
	Unscheduled Kind = "unscheduled" // its pod has no node
	Exits       Kind = "exits"       // a container of its pod has exited
	Image       Kind = "image"       // an image cannot be pulled, or a container cannot be created
	Starting    Kind = "starting"    // its containers are being created, or have just started
	Store       Kind = "store"       // it runs, and the store has not heard of it
)

// Kinds are all of them.
var Kinds = []Kind{Turn, NoPod, Leaving, Gated, Unscheduled, Exits, Image, Starting, Store}

// Wait is what one worker waits for. Text continues a sentence that begins with the worker's name.
type Wait struct {
	Kind Kind
	Text string
}

// joinsWithin is how long a container that runs may take to join before that is the store's fault or the agent's.
const joinsWithin = 10 * time.Second

// WaitOf says what a slot that has not joined waits for.
func WaitOf(s Slot, now time.Time) Wait {
	switch {
	case s.Job == nil && s.Before != nil:
		return Wait{Turn, fmt.Sprintf("waits for Job %s of an earlier epoch to be deleted", s.Before.Name)}
	case s.Job == nil:
		return Wait{Turn, "waits for its Job to be created"}
	case s.Job.Suspended:
		return Wait{Turn, fmt.Sprintf("waits its turn: Job %s is suspended", s.Job.Name)}
	case s.Pod == nil:
		return Wait{NoPod, fmt.Sprintf("waits for Job %s to create its pod", s.Job.Name)}
	case s.Pod.Phase == workload.Failed:
		return Wait{NoPod, fmt.Sprintf("waits for Job %s to replace pod %s, which failed%s", s.Job.Name, s.Pod.Name, inParentheses(s.failure()))}
	case s.Pod.Deleting:
		return Wait{Leaving, fmt.Sprintf("waits for pod %s to terminate", s.Pod.Name)}
	}
	if w := scheduling(s.Pod); w.Kind != "" {
		return w
	}
	return containers(s, now)
}

// scheduling is what keeps a pod from its node; no kind if it has one.
func scheduling(pod *workload.Pod) Wait {
	if _, done := scheduledAt(pod); done {
		return Wait{}
	}
	switch {
	case pod.Scheduling == nil:
		return Wait{Unscheduled, fmt.Sprintf("pod %s is unscheduled", pod.Name)}
	case pod.Scheduling.Gated:
		return Wait{Gated, fmt.Sprintf("pod %s is gated", pod.Name)}
	}
	return Wait{Unscheduled, fmt.Sprintf("pod %s is unscheduled%s", pod.Name, inParentheses(pod.Scheduling.Message))}
}

// scheduledAt is when a pod got its node, false if it has none. A pod that was created with a node has no such moment.
func scheduledAt(pod *workload.Pod) (time.Time, bool) {
	if c := pod.Scheduling; c != nil && c.Done {
		return c.At, true
	}
	return pod.Created, pod.Node != "" || pod.Phase == workload.Failed
}

// containers is what keeps a pod that has a node from joining.
func containers(s Slot, now time.Time) Wait {
	exit, exited := ExitOf(s, time.Time{})
	exited = exited && exit.Container != ""
	running := s.runningSince()
	runs := !running.IsZero() && now.Sub(running) >= joinsWithin
	switch {
	case runs && !(exited && exit.Dead):
		return Wait{Store, fmt.Sprintf("pod %s runs, but has not reached %s", s.Pod.Name, s.storeText())}
	case exited:
		return Wait{Exits, fmt.Sprintf("container %s of pod %s exited with code %d%s", exit.Container, s.Pod.Name, exit.Code, inParentheses(exit.Message))}
	}
	reason := ""
	for _, c := range s.counted() {
		if !c.Waiting {
			continue
		}
		if isStuck(c.Reason) {
			return Wait{Image, fmt.Sprintf("container %s of pod %s waits: %s%s", c.Name, s.Pod.Name, c.Reason, inParentheses(c.Message))}
		}
		reason = c.Reason
	}
	return Wait{Starting, fmt.Sprintf("pod %s is starting%s", s.Pod.Name, inParentheses(reason))}
}

// failure is why a pod failed: an exit of a container, or what the kubelet says of the pod.
func (s Slot) failure() string {
	if e, found := ExitOf(s, time.Time{}); found && e.Container != "" {
		return fmt.Sprintf("container %s exited with code %d%s", e.Container, e.Code, inParentheses(e.Message))
	}
	return s.Pod.Reason
}

// isStuck reports whether a container waits for more than the kubelet's next step.
func isStuck(reason string) bool {
	return reason != "" && reason != "ContainerCreating" && reason != "PodInitializing"
}

// runningSince is when the last container that has to run was started, zero if one does not run.
func (s Slot) runningSince() time.Time {
	var last time.Time
	for i := range s.Pod.Containers {
		c := &s.Pod.Containers[i]
		if s.worker() != "" && c.Name != s.worker() {
			continue
		}
		if !c.Running {
			return time.Time{}
		}
		last = latest(last, c.Since)
	}
	return last
}

func (s Slot) storeText() string {
	if s.Job == nil || s.Job.Store == "" {
		return "the store"
	}
	return "the store at " + s.Job.Store
}

func inParentheses(text string) string {
	if text == "" {
		return ""
	}
	return " (" + shortened(text) + ")"
}

// longestText keeps a message that names several workers readable.
const longestText = 160

func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= longestText {
		return text
	}
	return string(runes[:longestText]) + "..."
}
