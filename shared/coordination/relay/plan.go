package relay

import (
	"strconv"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Plan says which workers relay. All members of a group must have the same one.
type Plan struct {
	From int64 // stages with fewer slots have no relays; 0: no stage has
	Per  int64 // members that share a relay, including itself; at most rounds.MaxBatch
}

// DefaultPer is how many members share a relay. A batch of this size costs the store about as little per member as a larger one.
const DefaultPer = 100

// Of returns the slot of the relay for a slot of the stage, which is the slot itself if it relays. It returns "" if the slot has no
// relay. Relays are Per indexes apart, so they are on different nodes unless a node has more workers than that.
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
