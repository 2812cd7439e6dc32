package forming

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// Kind is what a worker is waiting for, in one word. It is used as a metric label.
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
	Store       Kind = "store"       // it is running, but the store has no report from it
)

// Kinds lists all kinds.
var Kinds = []Kind{Turn, NoPod, Leaving, Gated, Unscheduled, Exits, Image, Starting, Store}

// Wait describes what a worker is waiting for. Text completes a sentence that begins with the worker's name.
type Wait struct {
	Kind Kind
	Text string
}

// joinsWithin is how long a running container may take to join. After that, the store or the agent is considered the cause.
const joinsWithin = 10 * time.Second

// WaitOf returns what a slot that has not joined is waiting for.
func WaitOf(s Slot, now time.Time) Wait {
	switch {
	case s.Job == nil && s.Before != nil:
		return Wait{Turn, fmt.Sprintf("waiting for Job %s from an earlier epoch to be deleted", s.Before.Name)}
	case s.Job == nil:
		return Wait{Turn, "waiting for its Job to be created"}
	case s.Job.Suspended:
		return Wait{Turn, fmt.Sprintf("waiting its turn: Job %s is suspended", s.Job.Name)}
	case s.Pod == nil:
		return Wait{NoPod, fmt.Sprintf("waiting for Job %s to create its pod", s.Job.Name)}
	case s.Pod.Phase == workload.Failed:
		return Wait{NoPod, fmt.Sprintf("waiting for Job %s to replace pod %s, which failed%s", s.Job.Name, s.Pod.Name, inParentheses(s.failure()))}
	case s.Pod.Deleting:
		return Wait{Leaving, fmt.Sprintf("waiting for pod %s to terminate", s.Pod.Name)}
	}
	if w := scheduling(s.Pod); w.Kind != "" {
		return w
	}
	return containers(s, now)
}

// scheduling returns what prevents a pod from being scheduled. The Kind is empty if the pod has a node.
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

// containers returns what prevents a scheduled pod from joining.
func containers(s Slot, now time.Time) Wait {
	exit, exited := ExitOf(s, time.Time{})
	exited = exited && exit.Container != ""
	running := s.runningSince()
	runs := !running.IsZero() && now.Sub(running) >= joinsWithin
	switch {
	case runs && !(exited && exit.Dead):
		store := "the store"
		if s.Job.Store != "" {
			store += " at " + s.Job.Store
		}
		return Wait{Store, fmt.Sprintf("pod %s is running, but has not reached %s", s.Pod.Name, store)}
	case exited:
		return Wait{Exits, fmt.Sprintf("container %s of pod %s exited with code %d%s", exit.Container, s.Pod.Name, exit.Code, inParentheses(exit.Message))}
	}
	reason := ""
	for _, c := range s.counted() {
		if !c.Waiting {
			continue
		}
		if reason = c.Reason; reason != "" && reason != "ContainerCreating" && reason != "PodInitializing" { // not an ordinary startup
			return Wait{Image, fmt.Sprintf("container %s of pod %s is waiting: %s%s", c.Name, s.Pod.Name, reason, inParentheses(c.Message))}
		}
	}
	return Wait{Starting, fmt.Sprintf("pod %s is starting%s", s.Pod.Name, inParentheses(reason))}
}

// failure returns why a pod failed: a container exit, or the reason given by the kubelet.
func (s Slot) failure() string {
	if e, found := ExitOf(s, time.Time{}); found && e.Container != "" {
		return fmt.Sprintf("container %s exited with code %d%s", e.Container, e.Code, inParentheses(e.Message))
	}
	return s.Pod.Reason
}

// runningSince returns when the last required container was started, or zero if one of them is not running.
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

// maxNamed limits how many workers a message names.
const maxNamed = 5

// Text names the missing workers, what each of them is waiting for, and what happens next. It depends on the state and not on the
// time.
func (s Step) Text() string {
	var parts []string
	for _, slot := range s.Missing[:min(len(s.Missing), maxNamed)] {
		parts = append(parts, slot.Name+": "+WaitOf(slot, s.Now).Text)
	}
	if more := s.Waiting - int64(len(parts)); more > 0 && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	text := fmt.Sprintf("%d of %d workers have not joined", s.Waiting, len(s.Slots))
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, "; ")
	}
	deadline, runs := s.Clock()
	if !runs {
		return fmt.Sprintf("%s. Meanwhile, the %s forming-timeout is paused", text, s.Period)
	}
	end := deadline.Start.Add(deadline.Period).UTC().Format(time.RFC3339)
	return fmt.Sprintf("%s. If they have not joined by %s (forming-timeout %s), pods are recreated", text, end, s.Period)
}

// Waits counts the missing workers by what they are waiting for. Missing workers whose names are unknown count as running without
// having joined.
func (s Step) Waits() map[Kind]int {
	counts := map[Kind]int{}
	for _, slot := range s.Missing {
		counts[WaitOf(slot, s.Now).Kind]++
	}
	if more := int(s.Waiting) - len(s.Missing); more > 0 {
		counts[Store] += more
	}
	return counts
}
