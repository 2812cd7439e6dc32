package timeline

import (
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

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
