package timeline

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

// Annotations of the rescheduler. The wire format is that of its package memory.
const (
	memoryAnnotation   = "holdfast.dev/rescheduling"
	workloadAnnotation = "sigs.k8s.io/deploy"
	retriesAnnotation  = "schedulingRetries"
)

type memory struct {
	Version int `json:"version"`
	Entries []struct {
		Node   string    `json:"node"`
		Class  string    `json:"class"`
		Reason string    `json:"reason"`
		Slot   string    `json:"slot"`
		Count  int       `json:"count"`
		Last   time.Time `json:"last"`
	} `json:"entries"`
}

// ofMemory lists the nodes on which pods of the workload have failed, each at the last time. A value that cannot be read says nothing.
func ofMemory(o Object) []Entry {
	var m memory
	if err := json.Unmarshal([]byte(o.Annotations[memoryAnnotation]), &m); err != nil || m.Version != 1 {
		return nil
	}
	var list []Entry
	for _, entry := range m.Entries {
		e := Entry{
			At: entry.Last, Rung: recovering.RungMove, Object: o.String(), What: Moved, Cause: entry.Reason, Worker: entry.Slot, Node: entry.Node, Limit: -1,
		}
		if e.Cause == "" {
			e.Cause = entry.Class
		}
		if entry.Count > 1 {
			e.Cause += fmt.Sprintf(", %d times", entry.Count)
		}
		list = append(list, e)
	}
	return list
}

// Remembered tells whether the rescheduler has a memory of the workload: pods of it have failed on nodes.
func Remembered(annotations map[string]string) bool {
	_, found := annotations[memoryAnnotation]
	return found
}

// Moves is how often pods of a workload were moved, and how often they may be: -1 if nobody says so.
func Moves(annotations map[string]string) (moves, allowed int32) {
	var info struct {
		Times int32 `json:"currentReschedulingTimes"`
	}
	_ = json.Unmarshal([]byte(annotations[workloadAnnotation]), &info) // unreadable is none
	allowed = -1
	if n, err := strconv.ParseInt(annotations[retriesAnnotation], 10, 32); err == nil && n >= 0 {
		allowed = int32(n)
	}
	return max(0, info.Times), allowed
}

// evicted is what an ElasticJob says of a worker that somebody has evicted.
const evicted = "it was evicted"

// evictedWithin is how long after the decision to move a pod its eviction may come: a disruption budget may hold it up.
const evictedWithin = time.Minute

// joinMoves makes the replacement of a worker that the rescheduler has evicted a step of that move: it is one answer to one fault.
func joinMoves(list []Entry) {
	for i := range list {
		e := &list[i]
		if e.What != Replaced || e.Cause != evicted {
			continue
		}
		for _, move := range list {
			if move.What == Moved && move.moves(*e) && !e.At.Before(move.At.Add(-sameMoment)) && e.At.Before(move.At.Add(evictedWithin)) {
				e.What, e.Rung = Repair, recovering.RungMove
				break
			}
		}
	}
}

// moves tells whether the entry says that the pod of the worker of an ElasticJob is moved: a memory names its slot, an event is about
// the pod, and both have the pod's name.
func (e Entry) moves(replaced Entry) bool {
	_, job, _ := strings.Cut(replaced.Object, " ")
	pod := job + "-" + replaced.Worker
	return e.Worker == pod || e.Object == "Pod "+pod
}
