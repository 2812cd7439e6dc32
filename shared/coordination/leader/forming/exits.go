package forming

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// Exit is the most recent failure of a slot's pods.
type Exit struct {
	Slot
	Container string // empty if the pod has failed as a whole
	Code      int32
	Message   string // the container's termination message
	At        time.Time
	Dead      bool  // the container has not been restarted since
	Times     int32 // how many times the slot's pods have failed
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
		last, dead := c.Exited, c.Exited != nil // if dead, it has not been restarted, and RestartCount does not include this exit yet
		if !dead {
			last, dead = c.Last, c.Waiting
		}
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
	if times == 0 { // the pod has no failed container, for example because its node rejected it
		failed := s.Failed
		if s.Pod.Phase == workload.Failed {
			failed++
		}
		return Exit{Slot: s, Times: failed}, failed > 0
	}
	newest.Times = times + s.Failed
	return newest, !newest.At.Before(opened.Truncate(time.Second)) // the kubelet reports times in whole seconds
}

// Worst returns the failure in the slot that has failed most often. Workers that fail at the same time count as one failure, as
// they do after they have joined, so Times is also the step's number of failures.
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

// longestText limits each text in a message that names several workers, in characters.
const longestText = 160

func inParentheses(text string) string {
	if text == "" {
		return ""
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > longestText {
		text = string(runes[:longestText]) + "..."
	}
	return " (" + text + ")"
}

// Charge counts failures before the first join against the budget: it adds the failures that the base of the epoch does not include
// yet. It returns the new epoch and the new number of charged restarts, or false if there are no failures to charge. It does not
// charge anything beyond the failure that fails the JobSet.
func Charge(e epoch.Record, charged int32, budget restart.Budget, round int64, failures int32) (epoch.Record, int32, bool) {
	more := failures - e.Early
	if more <= 0 || budget.Exceeded(charged) {
		return e, charged, false
	}
	last := budget.Left(restart.Charged(e.Base, round)) + 1
	e.Base, e.Early = restart.Charged(e.Base, int64(min(more, last))), failures
	return e, max(charged, restart.Charged(e.Base, round)), true
}
