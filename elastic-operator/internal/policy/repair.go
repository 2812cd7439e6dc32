package policy

import (
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
)

const (
	// firstPause comes before the second replacement of a worker whose program keeps failing; each further one takes twice as long.
	firstPause = time.Second
	// longestPause before a replacement.
	longestPause = time.Minute
)

// repair makes the pods follow the wanted indexes.
func (d *decider) repair() {
	d.out.Rendezvous = true
	for _, i := range d.podIndexes() {
		if pod := d.Pods[i]; !d.m.Indexes.Has(i) {
			d.remove(i, pod, "it is not wanted any more")
		}
	}
	for _, i := range d.m.Indexes {
		if pod, there := d.Pods[i]; there {
			d.repairPod(i, pod)
		} else {
			d.fillSlot(i)
		}
	}
	d.out.Services = indexes.Of(append(d.podIndexes(), d.m.Indexes...)...)
}

// repairPod removes a pod whose worker is to be replaced, or is abandoned and has not stopped by itself. The pod of an abandoned worker
// that has stopped is kept for its logs.
func (d *decider) repairPod(i int, pod Pod) {
	if !pod.LostAt.IsZero() && pod.Node != NodeLost {
		d.requeueAt(pod.LostAt)
	}
	switch counted := d.m.Workers[i].LastPod == pod.UID; {
	case !counted || d.m.Completed.Has(i):
	case d.dead(i) && pod.Phase == Failed && pod.Node != NodeLost:
	case d.dead(i):
		d.remove(i, pod, "its worker was given up")
	default:
		d.remove(i, pod, d.m.Workers[i].LastReason)
	}
}

// fillSlot creates a pod, at once for the first failure of a worker, then after pauses that grow. What was evicted or lost is replaced at
// once; what its node has turned away is not, for a node does that within milliseconds, again and again.
func (d *decider) fillSlot(i int) {
	if d.dead(i) || d.m.Completed.Has(i) {
		return
	}
	h := d.m.Workers[i]
	n := h.Failures
	if h.LastReason == reasonRejected { // the next node may well be the same one
		n = max(n, h.Disruptions)
	}
	if at := h.LastTime.Add(pause(n)); n > 1 && d.Now.Before(at) {
		d.requeueAt(at)
		return
	}
	d.out.Create = append(d.out.Create, i)
}

func pause(failures int32) time.Duration {
	p := firstPause
	for n := int32(2); n < failures && p < longestPause; n++ {
		p *= 2
	}
	return min(p, longestPause)
}
