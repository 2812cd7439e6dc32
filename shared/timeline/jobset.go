package timeline

import (
	"fmt"
	"strings"
	"time"

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

// ofMark is what goes on at this moment and has no place in a history yet.
func ofMark(o Object, known []Entry, now time.Time) []Entry {
	state, found := recovering.Of(o.Annotations)
	if !found || !state.Live(now) {
		return nil
	}
	for _, e := range known {
		if e.Ongoing && e.Rung == state.Rung {
			return nil
		}
	}
	e := Entry{At: now, Rung: state.Rung, Object: o.String(), What: byRung[state.Rung], Cause: state.Reason, Ongoing: true, Limit: -1}
	if c, is := o.condition(recovering.Condition); is {
		e.At, e.Took = c.Since, max(0, now.Sub(c.Since))
	}
	if e.What == "" {
		e.What = Noted
	}
	return []Entry{e}
}

var byRung = map[int]What{
	recovering.RungProcess: InPlace, recovering.RungGroup: InPlace, recovering.RungElastic: Replaced, recovering.RungMove: Moved,
	recovering.RungRecreate: Recreation, recovering.RungReset: Reset,
}

// ElasticJob is what is read of an ElasticJob's spec and status.
type ElasticJob struct {
	BackoffLimit int32 // -1: without limit
	// Message says where workers are that do not run; empty if all do.
	Message string
	Workers []ElasticWorker
}

// ElasticWorker is what one worker has been through; only its last replacement is known by time.
type ElasticWorker struct {
	Index                 int32
	Failures, Disruptions int32
	LastReason            string
	LastTime              time.Time
	GivenUp               bool
}

// workerGivenUp is the result for a worker that nobody replaces: the others go on without it, as long as they are enough.
const workerGivenUp = "given up"

func ofElasticJob(o Object) []Entry {
	list := []Entry{{At: o.Created, Object: o.String(), What: Started}}
	for _, w := range o.ElasticJob.Workers {
		if w.LastTime.IsZero() {
			continue
		}
		e := Entry{
			At: w.LastTime, Rung: recovering.RungElastic, Object: o.String(), What: Replaced, Cause: w.LastReason,
			Worker: fmt.Sprintf("worker-%d", w.Index), Count: w.Failures, Limit: o.ElasticJob.BackoffLimit,
		}
		if w.GivenUp {
			e.Result = workerGivenUp
		}
		list = append(list, e)
	}
	return append(list, ends(o, "Succeeded", "Failed")...)
}

// elasticWorker is the worker of a pod of an ElasticJob.
func elasticWorker(job, pod string) string { return strings.TrimPrefix(pod, job+"-") }

// AppWrapper is what is read of an AppWrapper's status.
type AppWrapper struct {
	Phase      string
	Resets     int32 // that were counted
	RetryLimit int32 // -1: not known
	Attempts   []Attempt
}

// Attempt is one try to run the workload, as the status has it. Times are zero while there is none.
type Attempt struct {
	Start, Ready, End time.Time
	Reason, Message   string
	Nodes             []string
	Evacuation        bool
}

// ofAppWrapper: the end of an attempt, with the next one's way to readiness, is one recovery.
func ofAppWrapper(o Object, now time.Time) []Entry {
	aw := o.AppWrapper
	var list []Entry
	number := aw.Resets
	for i := len(aw.Attempts) - 1; i >= 0; i-- {
		a := aw.Attempts[i]
		if i == 0 {
			list = append(list, started(o, a))
		}
		if a.End.IsZero() {
			continue
		}
		e := Entry{At: a.End, Object: o.String(), Cause: joined(a), Node: strings.Join(a.Nodes, ",")}
		last := i == len(aw.Attempts)-1
		switch {
		case a.Reason == "Succeeded":
			e.What, e.Cause = Finished, a.Message
		case a.Reason == "Suspended" || a.Reason == "Terminating":
			e.What, e.Cause = Suspended, a.Message
		case last && aw.Phase == "Failed":
			e.What = Failed
		default:
			e.Rung, e.What, e.Limit = recovering.RungReset, Reset, aw.RetryLimit
			if a.Evacuation {
				e.What = Evacuation
			} else {
				e.Count = number
				number = max(0, number-1)
			}
			e.Took, e.Ongoing = aw.until(i+1, a.End, now)
		}
		list = append(list, e)
	}
	return list
}

func started(o Object, a Attempt) Entry {
	e := Entry{At: a.Start, Object: o.String(), What: Started}
	if !a.Ready.IsZero() {
		e.Took = a.Ready.Sub(a.Start)
	}
	return e
}

// until is how long it took from the end of one attempt to the readiness of the next that became ready.
func (aw AppWrapper) until(next int, end, now time.Time) (took time.Duration, ongoing bool) {
	if next >= len(aw.Attempts) {
		return now.Sub(end), true
	}
	a := aw.Attempts[next]
	switch {
	case !a.Ready.IsZero():
		return a.Ready.Sub(end), false
	case !a.End.IsZero():
		return a.End.Sub(end), false
	}
	return now.Sub(end), true
}

func joined(a Attempt) string {
	if a.Message == "" || a.Reason == "" {
		return a.Reason + a.Message
	}
	return a.Reason + ": " + a.Message
}
