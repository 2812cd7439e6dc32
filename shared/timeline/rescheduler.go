package timeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

// Annotations of the rescheduler. Their format is defined in its package memory.
const (
	memoryAnnotation   = "holdfast.dev/rescheduling"
	workloadAnnotation = "sigs.k8s.io/deploy"
	podAnnotation      = "sigs.k8s.io/pod" // of a pod without owners, instead of workloadAnnotation
	retriesAnnotation  = "schedulingRetries"
)

// maxRetries is the maximum of retriesAnnotation. The rescheduler treats larger values as the maximum.
const maxRetries = 10000

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

// ofMemory returns an entry for each node on which pods of the workload failed, with the last failure. Invalid values are
// ignored.
func ofMemory(o Object) []Entry {
	var m memory
	if err := json.Unmarshal([]byte(o.Annotations[memoryAnnotation]), &m); err != nil || m.Version != 1 {
		return nil
	}
	var list []Entry
	for _, node := range m.Entries {
		e := Entry{
			At: node.Last, Level: recovering.LevelMove, Object: o.String(), What: Moved, Cause: cmp.Or(node.Reason, node.Class), Worker: node.Slot, Node: node.Node, Limit: -1,
		}
		if node.Count > 1 {
			e.Cause += fmt.Sprintf(", %d times", node.Count)
		}
		list = append(list, e)
	}
	return list
}

// Remembered reports whether the rescheduler has recorded failures of the workload's pods on nodes.
func Remembered(annotations map[string]string) bool {
	_, found := annotations[memoryAnnotation]
	return found
}

// Moves returns how often pods of a workload, or a bare pod, were moved, and the limit, or -1 if there is none.
func Moves(annotations map[string]string) (moves, allowed int32) {
	var info struct {
		Times int32 `json:"currentReschedulingTimes"`
	}
	_ = json.Unmarshal([]byte(cmp.Or(annotations[podAnnotation], annotations[workloadAnnotation])), &info) // an invalid value counts as zero
	allowed = -1
	if n, err := strconv.Atoi(strings.TrimSpace(annotations[retriesAnnotation])); err == nil && n >= 0 {
		allowed = int32(min(n, maxRetries))
	}
	return max(0, info.Times), allowed
}
