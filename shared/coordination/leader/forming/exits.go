package forming

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// Exit is the most recent failure of a slot's pods.
type Exit struct {
	Slot
	Container string // empty if the pod has failed as a whole
	Code      int32
	Message   string // the container's termination message
	At        time.Time
	Dead      bool  // the container has not been restarted since
	Times     int32 // how many times the pods of the slot have failed
}

// counted returns the containers that a worker needs in order to join: its own container and the init containers. If the name of
// the worker's container is unknown, it returns all containers.
func (s Slot) counted() []*workload.Container {
	var list []*workload.Container
	for i := range s.Pod.Init {
		list = append(list, &s.Pod.Init[i])
	}
	for i := range s.Pod.Containers {
		if c := &s.Pod.Containers[i]; s.worker() == "" || c.Name == s.worker() {
			list = append(list, c)
		}
	}
	return list
}

// ExitOf returns the most recent failure in a slot since the group opened, and whether there was one. An earlier exit may have
// been unrelated to joining, because an agent can exist before its group. A pod that ends because it was deleted has not failed
// either.
func ExitOf(s Slot, opened time.Time) (newest Exit, found bool) {
	if s.Pod == nil || s.Pod.Deleting {
		return Exit{}, false
	}
	var times int32
	for _, c := range s.counted() {
		last, dead := lastExit(c)
		if last == nil || last.Code == 0 {
			continue
		}
		times += c.Restarts
		if dead {
			times++
		}
		if at := last.At; !found || at.After(newest.At) {
			newest, found = Exit{Slot: s, Container: c.Name, Code: last.Code, Message: last.Message, At: at, Dead: dead}, true
		}
	}
	if times == 0 {
		return failedPod(s)
	}
	newest.Times = times + s.Failed
	return newest, !newest.At.Before(opened.Truncate(time.Second)) // the kubelet reports whole seconds
}

// failedPod returns the failure of a pod that has no failed container, for example because its node rejected it.
func failedPod(s Slot) (Exit, bool) {
	failed := s.Failed
	if s.Pod.Phase == workload.Failed {
		failed++
	}
	return Exit{Slot: s, Times: failed}, failed > 0
}

// lastExit returns how a container last exited, and whether it has not been restarted since. If it has not, RestartCount does
// not include that exit yet.
func lastExit(c *workload.Container) (last *workload.Exit, dead bool) {
	if c.Exited != nil {
		return c.Exited, true
	}
	return c.Last, c.Waiting
}

// Worst returns the failure of the slot that has failed most often. Workers that fail at the same time count as one failure, as
// they do after they have joined, so this is also the number of failures of the step.
func Worst(slots []Slot, opened time.Time) (worst Exit, found bool) {
	for _, s := range slots {
		if e, ok := ExitOf(s, opened); ok && e.Times > worst.Times {
			worst, found = e, true
		}
	}
	return worst, found
}

// Text describes how a worker failed.
func (e Exit) Text() string {
	if e.Container == "" {
		return fmt.Sprintf("worker %s lost its pod before it joined", e.Name)
	}
	return fmt.Sprintf("worker %s exited with code %d%s before it joined (container %s of pod %s)",
		e.Name, e.Code, inParentheses(e.Message), e.Container, e.Pod.Name)
}

func inParentheses(text string) string {
	if text == "" {
		return ""
	}
	return " (" + shortened(text) + ")"
}

// longestText limits each text in a message that names several workers, in characters.
const longestText = 160

func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	runes := []rune(text)
	if len(runes) <= longestText {
		return text
	}
	return string(runes[:longestText]) + "..."
}
