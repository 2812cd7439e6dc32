package policy

import (
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
)

const (
	// firstBackoff is the delay before the second replacement of a worker. It doubles with each further failure.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
)

// repair creates and deletes pods to match the desired indexes.
func (d *decider) repair() {
	d.out.Rendezvous = true
	for _, i := range d.podIndexes() {
		if pod := d.Pods[i]; !d.m.Indexes.Has(i) {
			d.remove(i, pod)
		}
	}
	for _, i := range d.m.Indexes {
		if pod, found := d.Pods[i]; found {
			d.repairPod(i, pod)
		} else {
			d.createPod(i)
		}
	}
	d.out.Services = indexes.Of(append(d.podIndexes(), d.m.Indexes...)...)
}

// repairPod deletes the pod of a worker that must be replaced, or that is abandoned and still running. The failed pod of an abandoned
// worker is kept for its logs.
func (d *decider) repairPod(i int, pod Pod) {
	if !pod.LostAt.IsZero() && pod.Node != NodeLost {
		d.requeueAt(pod.LostAt)
	}
	switch counted := d.m.Workers[i].LastPod == pod.UID; {
	case !counted || d.m.Completed.Has(i):
	case d.abandoned(i) && pod.Phase == Failed && pod.Node != NodeLost:
	default:
		d.remove(i, pod)
	}
}

// createPod creates the pod of a worker: immediately after the first failure, and with exponential backoff after further failures. There
// is no backoff after disruptions, unless a node has rejected the pod, which can happen repeatedly within milliseconds.
func (d *decider) createPod(i int) {
	if d.abandoned(i) || d.m.Completed.Has(i) {
		return
	}
	h := d.m.Workers[i]
	n := h.Failures
	if h.LastReason == reasonRejected { // the scheduler may select the same node again
		n = max(n, h.Disruptions)
	}
	if at := h.LastTime.Add(backoff(n)); n > 1 && d.Now.Before(at) {
		d.requeueAt(at)
		return
	}
	d.out.Create = append(d.out.Create, i)
}

func backoff(failures int32) time.Duration {
	delay := firstBackoff
	for n := int32(2); n < failures && delay < maxBackoff; n++ {
		delay *= 2
	}
	return min(delay, maxBackoff)
}
