package policy

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

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

// repairPod deletes the pod of a worker that must be replaced, or of an abandoned worker that is still running. The failed pod of an
// abandoned worker is kept for its logs.
func (d *decider) repairPod(i int, pod Pod) {
	if !pod.LostAt.IsZero() && pod.Node != NodeLost {
		d.requeueAt(pod.LostAt)
	}
	switch counted := d.m.Workers[i].LastPod == pod.UID; {
	case !counted || d.m.Completed.Has(i):
	case d.abandoned(i) && pod.Phase == corev1.PodFailed && pod.Node != NodeLost:
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
	if n <= 1 || d.reached(fromMicro(h.LastTime).Add(backoff(n))) {
		d.out.Create = append(d.out.Create, i)
	}
}

func backoff(failures int32) time.Duration {
	delay := firstBackoff
	for n := int32(2); n < failures && delay < maxBackoff; n++ {
		delay *= 2
	}
	return min(delay, maxBackoff)
}

const (
	// lossWindow is how long after the start of a new rendezvous server older workers may still fail because the previous server was lost.
	// Agents read the store every few seconds, and give their processes 30 s to terminate.
	lossWindow = time.Minute
	// refundWindow is how long before the start of the new server a worker may have failed because of a server loss that had not been
	// observed yet.
	refundWindow = 30 * time.Second
	// reportLag is how long the kubelet may take to report that a server has started. Start times are rounded to whole seconds.
	reportLag = 5 * time.Second
)

// lostServer reports whether a failed worker may have failed because the rendezvous server was lost. Torch's agents exit in that case.
func (d *decider) lostServer(pod Pod) bool {
	server := d.Rendezvous
	switch {
	case !server.Managed || pod.Finished.IsZero():
		return false
	case server.Started.IsZero():
		return true
	}
	return pod.Began.Before(server.Started) && pod.Finished.Before(server.Started.Add(lossWindow))
}

// refund converts failures that were counted shortly before the rendezvous server started into disruptions, because agents detect the loss
// of a server before the kubelet reports it.
func (d *decider) refund() {
	for i, h := range d.m.Workers {
		ago := d.Rendezvous.Started.Sub(fromMicro(h.LastTime))
		if !d.Rendezvous.Managed || !strings.HasPrefix(h.LastReason, exitedWith) || ago < -reportLag || ago > refundWindow || h.Failures == 0 {
			continue
		}
		h.Failures--
		h.Disruptions++
		h.Permanent, h.LastReason = false, reasonServerLost
		d.out.Status.Restarts--
		d.out.Status.Disruptions++
		d.m.Workers[i] = h
	}
}
