package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
)

// resize makes the set of wanted indexes as large as it has to be. Indexes that stay keep their pods.
func (d *decider) resize() {
	if g := d.m.GivenBack; g != nil && (g.Wanted != d.Settings.Wanted || !d.Now.Before(g.Since.Add(d.Settings.SurplusRetry))) {
		d.m.GivenBack = nil
	}
	size := d.Settings.Wanted
	if g := d.m.GivenBack; g != nil {
		size = min(size, max(d.Settings.Min, g.Replicas))
		d.requeueAt(g.Since.Add(d.Settings.SurplusRetry))
	}
	d.resizeTo(size)
	if gone := d.giveBack(size); len(gone) > 0 {
		d.m.Indexes = d.m.Indexes.Without(indexes.Of(gone...))
		d.resizeTo(len(d.m.Indexes))
	}
}

func (d *decider) resizeTo(size int) {
	if surplus := len(d.m.Indexes) - size; surplus > 0 {
		d.m.Indexes = d.m.Indexes.Without(indexes.Of(d.ranked(d.m.Indexes)[:surplus]...))
	}
	for _, i := range d.candidates(size - len(d.m.Indexes)) {
		d.m.Indexes = d.m.Indexes.With(i)
		d.forgive(i)
	}
	for i := range d.m.Workers {
		if !d.m.Indexes.Has(i) {
			delete(d.m.Workers, i)
		}
	}
	d.m.Completed = d.m.Completed.Intersect(d.m.Indexes)
}

// ranked puts the workers that are given away first before those that are kept longest.
func (d *decider) ranked(set []int) []int {
	order := slices.Clone(set)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.rank(a), d.rank(b)), byIndex(a, b))
	})
	return order
}

// byIndex: the highest goes first.
func byIndex(a, b int) int { return cmp.Compare(b, a) }

// rank of a worker that may have to go: those that were given up, then those that do not run, then those that are not ready, then those on
// nodes that somebody is emptying, then the others. Worker 0, which may host the store, goes last of those that run. What has completed costs
// nothing and counts for success.
func (d *decider) rank(i int) int {
	pod, there := d.Pods[i]
	switch {
	case d.m.Completed.Has(i) || (there && pod.Phase == Succeeded):
		return 6
	case d.dead(i):
		return 0
	case !there || !pod.running():
		return 1
	case i == 0:
		return 5
	case !pod.Ready:
		return 2
	case pod.Node == NodeDraining:
		return 3
	}
	return 4
}

// candidates are n indexes to be added: first those that have a pod, the best ones first, as after another controller; then the lowest that
// are free. One whose pod of before is on its way out is as good as any: the names of workers do not wander when a job is scaled back and
// forth.
func (d *decider) candidates(n int) []int {
	if n <= 0 {
		return nil
	}
	var there []int
	for _, i := range d.podIndexes() {
		if !d.m.Indexes.Has(i) && !d.Pods[i].Terminating {
			there = append(there, i)
		}
	}
	there = d.ranked(there)
	slices.Reverse(there)
	found := there[:min(n, len(there))]
	for i := 0; len(found) < n; i++ {
		if !d.m.Indexes.Has(i) && !slices.Contains(found, i) {
			found = append(found, i)
		}
	}
	return found
}

// forgive a pod that is on its way out because its index was not wanted.
func (d *decider) forgive(i int) {
	if pod, there := d.Pods[i]; there && pod.Terminating {
		h := d.m.Workers[i]
		h.LastPod, h.LastReason = pod.UID, ""
		d.m.Workers[i] = h
	}
}

// giveBack returns the workers beyond the minimum that have waited for a node for too long. Those that were given up are none of them, and do
// not count for the minimum: they are kept for their logs, and would come back with their failures forgotten.
func (d *decider) giveBack(size int) (gone []int) {
	patience := d.Settings.SurplusPending
	if patience == 0 || size <= d.Settings.Min {
		return nil
	}
	var waiting []int
	for _, i := range d.m.Indexes {
		pod, there := d.Pods[i]
		if !there || pod.Phase != Pending || pod.Bound || pod.Terminating {
			continue
		}
		if until := pod.Created.Add(patience); d.Now.Before(until) {
			d.requeueAt(until)
		} else {
			waiting = append(waiting, i)
		}
	}
	smaller := max(d.Settings.Min+d.deadWorkers(), size-len(waiting))
	if smaller < size {
		gone = d.ranked(waiting)[:size-smaller]
		d.m.GivenBack = &GivenBack{Replicas: smaller, Wanted: d.Settings.Wanted, Since: d.Now.Truncate(time.Microsecond)}
		d.requeueAt(d.Now.Add(d.Settings.SurplusRetry))
		d.event(Event{
			Warning: true, Reason: EventGivenBack, Action: actionScale,
			Note: fmt.Sprintf("%d workers have found no node for %s: %d are asked for instead of %d, and all again in %s",
				len(waiting), patience, smaller, size, d.Settings.SurplusRetry),
		})
	}
	return gone
}
