package simulation

import (
	"slices"
	"time"
)

// deletePod requests the deletion of a pod. Its kubelet does the rest.
func (w *world) deletePod(p *pod) {
	if p.phase != podSucceeded && slices.ContainsFunc(p.containers, func(c *instance) bool { return c.done }) {
		w.truth.uncounted = true
	}
	if p.deleting || p.gone {
		return
	}
	p.deleting, p.asked = true, w.now
	w.note("api", "pod %s is being deleted", p.uid)
	switch {
	case p.over, p.phase == podPending && !p.node.lost && p.born == 0:
		p.end()
		w.in(100*time.Millisecond, func() { w.podGone(p) })
	case p.node.cut:
		// The API server waits for the node, until another program force-deletes the pod.
		w.in(w.random.between(5*time.Second, 20*time.Second), func() { w.podGone(p) })
	default:
		w.in(w.random.between(5*time.Millisecond, 100*time.Millisecond), p.terminate)
	}
}

// podGone is called when a pod is removed from the API server.
func (w *world) podGone(p *pod) {
	if p.gone {
		return
	}
	p.gone = true
	w.note("api", "pod %s is gone", p.uid)
	if p.over {
		w.pods = slices.DeleteFunc(w.pods, func(other *pod) bool { return other == p })
	}
	w.lose(p, p.phase != podSucceeded || p.killed)
	if !p.ended() {
		p.job.missed(p)
	}
	p.job.kick()
}

// podEnded is called when the API server learns that a pod has Succeeded or Failed.
func (w *world) podEnded(p *pod) {
	if p.gone {
		return
	}
	j := p.job
	p.told = true
	for _, s := range j.seats {
		if s.slot == p.slot && p.phase == podSucceeded && !p.duplicate {
			s.completed = true
			j.failures = 0
			w.note("job", "%s: %s is completed", j.name, s.slot)
		}
	}
	if p.phase == podFailed {
		j.missed(p)
	}
	w.lose(p, p.phase == podFailed || p.killed)
	j.kick()
	w.controller.kick()
}
