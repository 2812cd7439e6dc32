package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/cli/internal/read"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

// Row of `top`: a workload by what it lost.
type Row struct {
	Namespace       string        `json:"namespace"`
	Kind            string        `json:"kind"`
	Name            string        `json:"name"`
	LostNanoseconds time.Duration `json:"lostNanoseconds"`
	// NotTimed is how many of the recoveries took a time that is not known, and is in no sum.
	NotTimed int `json:"notTimed,omitempty"`
	// Recoveries by rung, 1 to 6.
	Rungs [6]int `json:"rungs"`
	// Slowest of the recoveries; nil without any.
	Slowest *timeline.Entry `json:"slowest,omitempty"`
	Share   float64         `json:"lostShare"` // of the time since it was created, 0 to 1
}

func (r Row) loss() timeline.Loss {
	return timeline.Loss{Time: r.LostNanoseconds, NotTimed: r.NotTimed}
}

func (r Row) recoveries() int {
	n := 0
	for _, c := range r.Rungs {
		n += c
	}
	return n
}

// Top lists workloads, the one that lost most first. Of those that lost as much, or nobody knows how much, it is the one that was recovered
// most often.
func Top(all []*read.Workload, now time.Time) []Row {
	rows := []Row{}
	for _, w := range all {
		entries := timeline.Of(w.Timeline(), now)
		root, loss := w.Root(), timeline.Lost(entries)
		r := Row{Namespace: root.GetNamespace(), Kind: root.GetKind(), Name: root.GetName(), LostNanoseconds: loss.Time, NotTimed: loss.NotTimed}
		for i := range entries {
			e := &entries[i]
			if !e.Recovery() || e.Rung > len(r.Rungs) {
				continue
			}
			r.Rungs[e.Rung-1]++
			if r.Slowest == nil || e.Took > r.Slowest.Took {
				r.Slowest = e
			}
		}
		if age := now.Sub(root.GetCreationTimestamp().Time); age > 0 {
			r.Share = min(1, r.LostNanoseconds.Seconds()/age.Seconds())
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(b.LostNanoseconds, a.LostNanoseconds), cmp.Compare(b.recoveries(), a.recoveries()),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
	return rows
}
