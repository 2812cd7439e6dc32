// Package relay is the core of relays. In a large group, some members each act as a relay for about a hundred others: they forward
// the published levels, and combine joins into one store call. If its relay does not respond, a member uses the store directly, so
// a relay is an optimization and never a dependency. Deaths and all other calls go to the store directly. The package does no I/O:
// package tcp and the simulation execute its decisions.
package relay

import (
	"strconv"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Plan determines which workers are relays. All members of a group must have the same plan.
type Plan struct {
	From int64 // stages with fewer slots have no relays; if 0, no stage has relays
	Per  int64 // number of members that share a relay, including the relay; at most rounds.MaxBatch
}

// DefaultPer is the default for Plan.Per. Larger batches do not reduce the store's cost per member much further.
const DefaultPer = 100

// Of returns the slot of the relay for a slot of the stage. For the slot of a relay, it returns that slot. It returns "" if the
// slot has no relay. Relays are Per indexes apart, so they usually run on different nodes, unless a node has more workers than
// that.
func (p Plan) Of(stage coordination.Stage, slot string) string {
	if p.From <= 0 || stage.Slots() < max(2, p.From) || !stage.Has(slot) {
		return ""
	}
	job, pod, _ := strings.Cut(strings.TrimPrefix(slot, stage.Prefix+"-"), "-")
	j, _ := strconv.ParseInt(job, 10, 64)
	n, _ := strconv.ParseInt(pod, 10, 64)
	index := j*stage.Pods + n
	index -= index % min(max(1, p.Per), rounds.MaxBatch)
	return stage.Slot(index/stage.Pods, index%stage.Pods)
}
