package policy

import (
	"strings"
	"time"
)

const (
	// lossWindow is how long after the start of a new rendezvous server older workers may still fail because the previous server was lost.
	// Agents read the store every few seconds, and give their processes 30 s to terminate.
	lossWindow = time.Minute
	// refundWindow is how long before the start of the new server a worker may have failed because of a server loss that had not been
	// observed yet.
	refundWindow = 30 * time.Second
	// reportLag is how long after its start the kubelet may report a server. Start times are in whole seconds.
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

// refund converts failures that were counted shortly before the rendezvous server started into disruptions, because agents notice the loss
// of a server before the kubelet reports it.
func (d *decider) refund() {
	for i, h := range d.m.Workers {
		ago := d.Rendezvous.Started.Sub(h.LastTime)
		if !d.Rendezvous.Managed || !strings.HasPrefix(h.LastReason, exitedWith) || ago < -reportLag || ago > refundWindow || h.Failures == 0 {
			continue
		}
		h.Failures--
		h.Disruptions++
		h.Permanent, h.LastReason = false, reasonServerLost
		d.m.Restarts--
		d.m.Disruptions++
		d.m.Workers[i] = h
	}
}
