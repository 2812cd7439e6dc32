package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

// Event is one about an object of the workload, or a pod of it.
type Event struct {
	At           time.Time
	Kind, Name   string // of what it is about
	Reason, Note string
	Count        int32 // how often it was said; 0 and 1 are once
}

// meaning of the reason of an event.
type meaning struct {
	rung int
	what What
}

// meanings of events that say what no history does, and of those that begin what a history will have: it is written at the end, and gone
// with the object when that is reset.
var meanings = map[string]meaning{
	"InPlaceRestart":        {recovering.RungProcess, InPlace},
	"InPlaceFailOver":       {recovering.RungRecreate, Recreation},
	"InPlacePodReplaced":    {recovering.RungProcess, Repair},
	"InPlacePodRecreated":   {recovering.RungProcess, Repair},
	"InPlaceJobRecreated":   {recovering.RungProcess, Repair},
	"InPlacePodForced":      {recovering.RungProcess, Repair},
	"InPlacePodNotReplaced": {0, Noted},
	"InPlaceRestartsOver":   {0, Noted},
	"ForeignStoreValue":     {0, Noted},
	"ExternallySuspended":   {0, Suspended},
	"Rescheduled":           {recovering.RungMove, Moved},
	"NodeExcluded":          {recovering.RungMove, Moved},
	"ReschedulingExhausted": {0, Noted},
	"WorkloadFault":         {0, Noted},
	"NoOtherNode":           {0, Noted},
	"ExitedWithCode":        {recovering.RungElastic, Replaced},
	"WorkerDisrupted":       {recovering.RungElastic, Replaced},
	"WorkerGivenUp":         {0, Noted},
	"TooFewWorkers":         {0, Noted},
	"ElasticJobSuspended":   {0, Suspended},
}

// failurePolicySuffix ends the reasons of what a failure policy does.
const failurePolicySuffix = "FailurePolicyAction"

// sameMoment is how far apart the clocks of an event and of a history may be about one thing.
const sameMoment = 2 * time.Second

// ofEvents are entries for what is not among those that are known.
func ofEvents(w Workload, known []Entry) []Entry {
	var list []Entry
	seen := map[Event]bool{}
	for _, ev := range w.Events {
		m, means := meanings[ev.Reason]
		if strings.HasSuffix(ev.Reason, failurePolicySuffix) {
			m, means = meaning{recovering.RungRecreate, Recreation}, true
		}
		key := Event{At: ev.At, Reason: ev.Reason, Note: strings.TrimPrefix(ev.Note, "pod "+ev.Name+": ")}
		if !means || seen[key] {
			continue
		}
		seen[key] = true
		e := Entry{At: ev.At, Rung: m.rung, Object: ev.Kind + " " + ev.Name, What: m.what, Cause: ev.Note, Limit: -1}
		switch m.what {
		case Replaced:
			e.Cause, e.Worker = replacedBy(ev)
			if givenUp(ev, w.Events) {
				e.Result = workerGivenUp
			}
		case InPlace, Recreation:
			e.Count, e.Limit = countIn(ev.Note)
			e.Cause, _, _ = strings.Cut(ev.Note, ";")
		}
		others := known
		if m.what == Moved || m.what == Replaced { // said of the pod and of its workload
			others = append(slices.Clip(known), list...)
		}
		if !covered(e, others) {
			list = append(list, e)
		}
	}
	return list
}

// replacedBy takes the worker out of the note of an ElasticJob's event.
func replacedBy(ev Event) (cause, worker string) {
	pod, cause, found := podIn(ev.Note)
	if !found {
		return ev.Note, ""
	}
	return cause, elasticWorker(ev.Name, pod)
}

// podIn reads the name of the pod from the note of an ElasticJob's event, and the rest. There are notes with the namespace before the name
// and a dot between, and notes without; names of these pods have no dots.
func podIn(note string) (pod, rest string, found bool) {
	pod, rest, found = strings.Cut(strings.TrimPrefix(note, "Pod: "), " ")
	pod = strings.TrimSuffix(pod, ":")
	return pod[strings.LastIndexByte(pod, '.')+1:], rest, found
}

// givenUp: another event about the same worker at the same moment says that nobody replaces it.
func givenUp(ev Event, all []Event) bool {
	pod, _, _ := podIn(ev.Note)
	return slices.ContainsFunc(all, func(other Event) bool {
		about, _, _ := podIn(other.Note)
		return other.Reason == "WorkerGivenUp" && other.Kind == ev.Kind && other.Name == ev.Name && other.At.Sub(ev.At).Abs() <= sameMoment && about == pod
	})
}

// countIn reads "restart 2 of 5" in a note.
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

// later tells whether a restart was counted after another: it follows that one so soon that no history has it yet.
func (e Entry) later(than Entry) bool { return than.Count > 0 && e.Count > than.Count }

// covered: the same kind of thing, at the same moment, is known from a history or from the event about the pod.
func covered(e Entry, known []Entry) bool {
	for _, k := range known {
		within := !e.At.Before(k.At.Add(-sameMoment)) && !e.At.After(k.At.Add(k.Took+sameMoment))
		switch {
		case !within || k.What != e.What:
		case e.What == Moved && (k.Node == "" || strings.Contains(e.Cause, k.Node)),
			e.What == Replaced && (e.Worker == "" || k.Worker == e.Worker),
			(e.What == InPlace || e.What == Recreation) && !e.later(k),
			e.What == Suspended:
			return true
		}
	}
	return false
}
