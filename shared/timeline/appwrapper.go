package timeline

import (
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

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
