package policy

import (
	"strings"
	"time"
)

const (
	// lossWindow is how long after the start of the rendezvous server the workers of before may end because they lost the one before it:
	// agents read the store every few seconds, and give their processes 30 s to end.
	lossWindow = time.Minute
	// unseenLoss is how long before the start of the server a worker may have ended, and been counted, because of a loss that was not
	// observed yet.
	unseenLoss = 30 * time.Second
	// reportLag is how long after its start, whose time has whole seconds, the kubelet may report a server.
	reportLag = 5 * time.Second
)

// lostServer reports whether a worker that has failed may have done so because the rendezvous server was lost: torch's agents end then.
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

// refund turns failures that were counted shortly before the rendezvous server started into disruptions: the kubelet reports the loss of the
// server later than agents notice it.
func (d *decider) refund() {
	for i, h := range d.m.Workers {
		ago := d.Rendezvous.Started.Sub(h.LastTime)
		if !d.Rendezvous.Managed || !strings.HasPrefix(h.LastReason, exitedWith) || ago < -reportLag || ago > unseenLoss || h.Failures == 0 {
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
