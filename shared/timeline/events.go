package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

// Event is a Kubernetes event about an object of the workload or one of its pods.
type Event struct {
	At           time.Time
	Kind, Name   string // kind and name of the involved object
	Reason, Note string
}

// meaning is what an event reason means for the timeline.
type meaning struct {
	level int
	what  What
}

// meanings maps event reasons to their meanings. It contains events that no history records. It also contains events at the start of a
// recovery, because the history is written only at its end and is lost if a reset deletes the object.
var meanings = map[string]meaning{
	"InPlaceRestart":           {recovering.LevelProcess, InPlace},
	"InPlaceFailOver":          {recovering.LevelRecreate, Recreation},
	"InPlaceSpareUsed":         {recovering.LevelProcess, Repair},
	"InPlacePodReplaced":       {recovering.LevelProcess, Repair},
	"InPlacePodRecreated":      {recovering.LevelProcess, Repair},
	"InPlaceJobRecreated":      {recovering.LevelProcess, Repair},
	"InPlacePodForced":         {recovering.LevelProcess, Repair},
	"InPlacePodNotReplaced":    {0, Noted},
	"InPlaceWorkerFailed":      {0, Noted},
	"InPlaceRestartsOver":      {0, Noted},
	"ForeignStoreValue":        {0, Noted},
	"InPlaceJobsWithoutAgents": {0, Noted},
	"InPlacePodsWithoutAgents": {0, Noted},
	"ExternallySuspended":      {0, Suspended},
	"Rescheduled":              {recovering.LevelMove, Moved},
	"NodeExcluded":             {recovering.LevelMove, Moved},
	"ReschedulingExhausted":    {0, Noted},
	"WorkloadFault":            {0, Noted},
	"NoOtherNode":              {0, Noted},
	"ExitedWithCode":           {recovering.LevelElastic, Replaced},
	"WorkerDisrupted":          {recovering.LevelElastic, Replaced},
	"WorkerAbandoned":          {0, Noted},
	"TooFewWorkers":            {0, Noted},
	"ElasticJobSuspended":      {0, Suspended},
}

// failurePolicySuffix is the suffix of the event reasons for failure policy actions.
const failurePolicySuffix = "FailurePolicyAction"

// sameMoment is the allowed clock difference between an event and a history entry for the same recovery.
const sameMoment = 2 * time.Second

// ofEvents returns entries for events that have no matching known entry.
func ofEvents(w Workload, known []Entry) []Entry {
	var list []Entry
	seen := map[Event]bool{}
	for _, ev := range w.Events {
		m, means := meanings[ev.Reason]
		if strings.HasSuffix(ev.Reason, failurePolicySuffix) {
			m, means = meaning{recovering.LevelRecreate, Recreation}, true
		}
		key := Event{At: ev.At, Reason: ev.Reason, Note: strings.TrimPrefix(ev.Note, "pod "+ev.Name+": ")}
		if !means || seen[key] {
			continue
		}
		seen[key] = true
		e := Entry{At: ev.At, Level: m.level, Object: ev.Kind + " " + ev.Name, What: m.what, Cause: ev.Note, Limit: -1}
		switch m.what {
		case Replaced:
			if pod, cause, found := podIn(ev.Note); found {
				e.Cause, e.Worker = cause, strings.TrimPrefix(pod, ev.Name+"-")
			}
		case InPlace, Recreation:
			e.Count, e.Limit = countIn(ev.Note)
			e.Cause, _, _ = strings.Cut(ev.Note, ";")
		}
		others := known
		if m.what == Moved || m.what == Replaced { // these are reported both on the pod and on its workload
			others = append(slices.Clip(known), list...)
		}
		if !isDuplicate(e, others) {
			list = append(list, e)
		}
	}
	return list
}

// podIn returns the pod's name from the note of an ElasticJob's event, and the rest of the note. In some notes, the namespace and a dot precede
// the name. The names of these pods do not contain dots.
func podIn(note string) (pod, rest string, found bool) {
	pod, rest, found = strings.Cut(strings.TrimPrefix(note, "Pod: "), " ")
	pod = strings.TrimSuffix(pod, ":")
	return pod[strings.LastIndexByte(pod, '.')+1:], rest, found
}

// countIn parses the text "restart 2 of 5" in a note.
func countIn(note string) (count, limit int32) {
	_, rest, found := strings.Cut(note, "restart ")
	for found {
		if n, err := fmt.Sscanf(rest, "%d of %d", &count, &limit); err == nil && n == 2 {
			return count, limit
		}
		_, rest, found = strings.Cut(rest, "restart ")
	}
	return 0, -1
}

// isDuplicate reports whether the known entries contain an entry of the same type at the same time.
func isDuplicate(e Entry, known []Entry) bool {
	for _, k := range known {
		later := k.Count > 0 && e.Count > k.Count // a restart with a higher count is not in the history yet
		within := !e.At.Before(k.At.Add(-sameMoment)) && !e.At.After(k.At.Add(k.Took+sameMoment))
		switch {
		case !within || k.What != e.What:
		case e.What == Moved && (k.Node == "" || strings.Contains(e.Cause, k.Node)),
			e.What == Replaced && (e.Worker == "" || k.Worker == e.Worker),
			(e.What == InPlace || e.What == Recreation) && !later,
			e.What == Suspended:
			return true
		}
	}
	return false
}
