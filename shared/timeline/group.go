package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// Group contains the fields of a group's owner that the timeline uses. The owner is a JobSet, an Indexed Job without a JobSet, or
// the pod with index 0.
type Group struct {
	MaxRestarts int32
	// Charged is the number of counted restarts, in place and by recreation.
	Charged int32
	// Sidecar means that containers are restarted instead of processes.
	Sidecar bool
}

func ofGroup(o Object) []Entry {
	list := []Entry{{At: o.Created, Object: o.String(), What: Started}}
	entries, err := history.Parse(o.Annotations[history.Annotation]) // ignore invalid lines, which are from a later version
	current, _ := epoch.Of(o.Annotations)                            // the first epoch if it is invalid
	counted := numberRestarts(entries, o.Group.Charged, current.Early, err == nil && len(entries) < history.MaxEntries)
	level := recovering.LevelProcess
	if o.Group.Sidecar {
		level = recovering.LevelGroup
	}
	for i, h := range entries {
		e := Entry{
			At: h.FailedAt, Level: level, Object: o.String(), What: InPlace, Cause: h.Cause.String(),
			Worker: h.Worker, Pod: h.Pod, Node: h.Node, Took: h.Lost(), Count: counted[i], Limit: o.Group.MaxRestarts, Result: string(h.Ended),
		}
		if h.Kind == history.Recreation {
			e.Level, e.What = recovering.LevelRecreate, Recreation
		}
		list = append(list, e)
	}
	return append(list, ends(o, "Completed", "Complete")...)
}

// numberRestarts numbers the counted entries backwards, starting from the object's count. If the history is complete, the count is limited to
// the number of entries, because the failure that exceeded the budget has no entry. Failures before the group formed do not have an entry
// either.
func numberRestarts(entries []history.Entry, charged, early int32, whole bool) []int32 {
	numbers := make([]int32, len(entries))
	n := charged
	total := early
	for _, e := range entries {
		if e.Counted {
			total++
		}
	}
	if whole { // the history contains all restarts
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

// ends returns an entry for the end of the workload, according to its conditions.
func ends(o Object, finished ...string) []Entry {
	if c := o.True("Failed"); c != nil {
		return []Entry{{At: c.Since, Object: o.String(), What: Failed, Cause: Joined(c.Reason, c.Message)}}
	}
	if c := o.True(finished...); c != nil {
		return []Entry{{At: c.Since, Object: o.String(), What: Finished}}
	}
	return nil
}

// Joined returns a reason and a message as one text. Either may be empty.
func Joined(reason, message string) string {
	if message == "" || reason == "" {
		return reason + message
	}
	return reason + ": " + message
}

// ofRecovering returns an entry for a recovery in progress that is not in a history yet.
func ofRecovering(o Object, known []Entry, now time.Time) []Entry {
	state, found := recovering.Of(o.Annotations)
	if !found || !state.Live(now) {
		return nil
	}
	if slices.ContainsFunc(known, func(e Entry) bool { return e.Ongoing && e.Level == state.Level }) {
		return nil
	}
	e := Entry{At: now, Level: state.Level, Object: o.String(), What: cmp.Or(byLevel[state.Level], Noted), Cause: state.Reason, Ongoing: true, Limit: -1}
	if c := o.True(recovering.Condition); c != nil {
		e.At, e.Took = c.Since, max(0, now.Sub(c.Since))
	}
	return []Entry{e}
}

var byLevel = map[int]What{
	recovering.LevelProcess: InPlace, recovering.LevelGroup: InPlace, recovering.LevelElastic: Replaced, recovering.LevelMove: Moved,
	recovering.LevelRecreate: Recreation, recovering.LevelReset: Reset,
}

// ElasticJob contains the fields of an ElasticJob's status that the timeline uses, and its backoffLimit.
type ElasticJob struct {
	BackoffLimit int32 `json:"-"` // -1 means no limit
	// Message describes the workers that are not running; empty if all are running.
	Message string          `json:"message"`
	Workers []ElasticWorker `json:"workers"`
}

// ElasticWorker is the history of one worker. Only the time of its last replacement is known.
type ElasticWorker struct {
	Index      int32     `json:"index"`
	Failures   int32     `json:"failures"`
	LastReason string    `json:"lastReason"`
	LastTime   time.Time `json:"lastTime"`
	Abandoned  bool      `json:"-"`
}

// workerAbandoned is the result for a worker that is no longer replaced. The others continue as long as there are enough of them.
const workerAbandoned = "abandoned"

func ofElasticJob(o Object) []Entry {
	list := []Entry{{At: o.Created, Object: o.String(), What: Started}}
	for _, w := range o.ElasticJob.Workers {
		if w.LastTime.IsZero() {
			continue
		}
		e := Entry{
			At: w.LastTime, Level: recovering.LevelElastic, Object: o.String(), What: Replaced, Cause: w.LastReason,
			Worker: fmt.Sprintf("worker-%d", w.Index), Count: w.Failures, Limit: o.ElasticJob.BackoffLimit,
		}
		if w.Abandoned {
			e.Result = workerAbandoned
		}
		list = append(list, e)
	}
	return append(list, ends(o, "Succeeded")...)
}

// AppWrapper contains the fields of an AppWrapper's status that the timeline uses, and its retryLimit.
type AppWrapper struct {
	Phase      string    `json:"phase"`
	Resets     int32     `json:"resettingCount"` // resets that count towards the limit
	RetryLimit int32     `json:"-"`              // -1 means unknown
	Attempts   []Attempt `json:"attempts"`
}

// Attempt is an attempt to run the workload. Times that are not set are zero.
type Attempt struct {
	Start      time.Time `json:"startTime"`
	Ready      time.Time `json:"readyTime"`
	End        time.Time `json:"endTime"`
	Reason     string    `json:"reason"`
	Message    string    `json:"message"`
	Nodes      []string  `json:"nodes"`
	Evacuation bool      `json:"evacuation"`
}

// ofAppWrapper combines the end of an attempt and the start of the next one into one recovery.
func ofAppWrapper(o Object, now time.Time) []Entry {
	aw := o.AppWrapper
	var list []Entry
	number := aw.Resets
	for i := len(aw.Attempts) - 1; i >= 0; i-- {
		a := aw.Attempts[i]
		if i == 0 {
			first := Entry{At: a.Start, Object: o.String(), What: Started}
			if !a.Ready.IsZero() {
				first.Took = a.Ready.Sub(a.Start)
			}
			list = append(list, first)
		}
		if a.End.IsZero() {
			continue
		}
		e := Entry{At: a.End, Object: o.String(), Cause: Joined(a.Reason, a.Message), Node: strings.Join(a.Nodes, ",")}
		last := i == len(aw.Attempts)-1
		switch {
		case a.Reason == "Succeeded":
			e.What, e.Cause = Finished, a.Message
		case a.Reason == "Suspended" || a.Reason == "Terminating":
			e.What, e.Cause = Suspended, a.Message
		case last && aw.Phase == "Failed":
			e.What = Failed
		default:
			e.Level, e.What, e.Limit = recovering.LevelReset, Reset, aw.RetryLimit
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

// until returns the time from the end of an attempt until the next one became ready or ended.
func (aw AppWrapper) until(next int, end, now time.Time) (took time.Duration, ongoing bool) {
	if next < len(aw.Attempts) {
		if over := cmp.Or(aw.Attempts[next].Ready, aw.Attempts[next].End); !over.IsZero() {
			return over.Sub(end), false
		}
	}
	return now.Sub(end), true
}
