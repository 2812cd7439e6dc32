package timeline

import (
	"encoding/json"
	"fmt"
	"strconv"
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
