package timeline

import (
	"fmt"
	"strings"

	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// JobSet is what is read of a JobSet's spec and status.
type JobSet struct {
	MaxRestarts int32
	// Charged is how many restarts were counted, in place and by recreation.
	Charged int32
	// Sidecar: containers are restarted, not processes.
	Sidecar bool
}

func ofJobSet(o Object) []Entry {
	list := []Entry{{At: o.Created, Object: o.String(), What: Started}}
	text := o.Annotations[history.Annotation]
	entries, _ := history.Parse(text) // what cannot be read is of a later version
	counted := numberBack(entries, o.JobSet.Charged, history.Whole(text))
	for i, h := range entries {
		e := Entry{
			At: h.FailedAt, Rung: inPlaceRung(o.JobSet.Sidecar), Object: o.String(), What: InPlace, Cause: causeText(h.Cause),
			Worker: h.Worker, Pod: h.Pod, Node: h.Node, Took: h.Lost(), Count: counted[i], Limit: o.JobSet.MaxRestarts, Result: string(h.Ended),
		}
		if h.Kind == history.Recreation {
			e.Rung, e.What = recovering.RungRecreate, Recreation
		}
		list = append(list, e)
	}
	return append(list, ends(o, "Completed", "Failed")...)
}

func inPlaceRung(sidecar bool) int {
	if sidecar {
		return recovering.RungGroup
	}
	return recovering.RungProcess
}

// numberBack gives the counted entries their numbers: the last one has the number that the object says, unless it says more because the
// budget was exceeded by a failure that was answered by none of them.
func numberBack(entries []history.Entry, charged int32, whole bool) []int32 {
	numbers := make([]int32, len(entries))
	n := charged
	total := int32(0)
	for _, e := range entries {
		if e.Counted {
			total++
		}
	}
	if whole { // all restarts are here: they count from 1
		n = min(n, total)
	}
	for i := len(entries) - 1; i >= 0 && n > 0; i-- {
		if entries[i].Counted {
			numbers[i] = n
			n--
		}
	}
	return numbers
}

// causeText says in a few words what the history has as parts.
func causeText(c history.Cause) string {
	var text string
	switch c.Kind {
	case "exit":
		text = fmt.Sprintf("exited with code %d", c.ExitCode)
	case "hang":
		return strings.TrimSpace("made no progress for " + c.Reason)
	case "pod":
		text = "its pod was lost"
	case "replaced":
		text = "its container was restarted"
	case "timeout":
		text = "the restart before was out of time"
	case "forming":
		text = "workers had not joined in time"
	default:
		text = c.Kind
	}
	var more []string
	for _, part := range []string{c.Signal, c.Reason} {
		if part != "" {
			more = append(more, part)
		}
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// ends is how the work ended, from its conditions.
func ends(o Object, finished, failed string) []Entry {
	if c, is := o.condition(failed); is {
		return []Entry{{At: c.Since, Object: o.String(), What: Failed, Cause: says(c)}}
	}
	if c, is := o.condition(finished); is {
		return []Entry{{At: c.Since, Object: o.String(), What: Finished}}
	}
	return nil
}

func says(c Condition) string {
	if c.Message == "" || c.Reason == "" {
		return c.Reason + c.Message
	}
	return c.Reason + ": " + c.Message
}
