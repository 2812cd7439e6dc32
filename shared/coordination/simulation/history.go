package simulation

import (
	"slices"
	"time"
)

// Result is the result of a history.
type Result struct {
	Seed       uint64
	Shape      Shape
	Faults     []Fault
	Breach     *Breach // nil if every invariant held
	Transcript string
	Orders     int // number of orders to stop a worker
	Given      int // number of slots assigned to spares
	Rounds     int64
	Events     uint64
}

const (
	patience = 40 * time.Minute // for the aftermath of the faults: CrashLoopBackOff and the Job controller's back-off can be long
	glance   = 5 * time.Second
	quiet    = 40 * time.Second
)

// Run runs the history of a seed.
func Run(seed uint64, shape Shape, mutant Mutant) Result {
	return play(seed, shape, shape.draw(seed), mutant, false)
}

// play runs a history with the given faults, lets the world settle, and checks the result.
func play(seed uint64, shape Shape, faults []Fault, mutant Mutant, record bool) Result {
	log := &transcript{on: record}
	w := newWorld(seed, shape, mutant, log)
	defer w.store.close()
	for _, f := range faults {
		w.at(f.At, func() { w.inject(f) })
	}
	w.run(shape.Horizon)
	w.calmDown()
	w.settle()
	w.truth.checkVerdict()
	w.rest()
	w.cleanUp()
	var rounds int64
	for _, d := range w.truth.rounds {
		if !w.truth.forged { // a member can forge any number
			rounds += d
		}
	}
	return Result{
		Seed: seed, Shape: shape, Faults: faults, Breach: w.breach, Transcript: log.String(), Orders: w.truth.orders, Given: w.truth.given, Rounds: rounds,
		Events: w.order,
	}
}

// calmDown ends all lasting faults.
func (w *world) calmDown() {
	if w.breach != nil {
		return
	}
	w.run(20 * time.Second) // long enough for faults to reach their scheduled end
	w.note("CALM", "no more faults")
	w.calm = true
	for _, n := range w.nodes {
		n.heal()
	}
	for _, p := range w.pods {
		p.dieYoung, p.agent.link.slow = 0, 0
	}
	for _, o := range w.orchestrators {
		o.link.slow, o.fuse = 0, 0
	}
	if js := w.api.current; js != nil && js.suspended {
		w.api.spec("queue", func(js *jobSet) { js.suspended = false })
	}
}

// settle checks L1, L4 and L5 and, for permanent faults, L9: the world must settle.
func (w *world) settle() {
	limit := w.now + patience
	for w.breach == nil && w.now < limit {
		w.run(glance)
		if w.unsettled() == "" && !w.leader().busy && !w.isPending() || w.truth.forged && w.isQuiet() {
			return
		}
	}
	invariant := "L1"
	if len(w.culprits) > 0 {
		invariant = "L9"
	}
	w.fail(invariant, "%s after the last fault: %s", patience, w.unsettled())
}

// isPending reports whether the effects of a fault are still to come: a paused orchestrator that may still write as the leader
// when it resumes, a leader that has just been elected, or a worker that cannot be killed yet.
func (w *world) isPending() bool {
	return slices.ContainsFunc(w.orchestrators, func(o *orchestrator) bool { return o.wakes > w.now || o.leading && w.now-o.since < glance }) ||
		slices.ContainsFunc(w.pods, func(p *pod) bool { return p.immune > w.now && !p.over })
}

// rest checks L7: an idle group in sync causes hardly any calls, and no worker is stopped.
func (w *world) rest() {
	if w.breach != nil || w.truth.forged {
		return
	}
	for _, p := range w.pods {
		p.agent.fuse = 0 // progress checks would use up the rest of it
	}
	reads, writes, orders, apiWrites := w.store.reads, w.store.writes, w.truth.orders, w.api.writes
	w.run(quiet)
	if w.breach != nil {
		return
	}
	most := (len(w.slots)+w.shape.spares())*5 + 20
	switch {
	case w.unsettled() != "":
		w.fail("L7", "the group did not stay settled at rest: %s", w.unsettled())
	case w.truth.orders > orders:
		w.fail("L7", "a worker was stopped at rest")
	case w.api.writes > apiWrites:
		w.fail("L7", "the JobSet was written %d times at rest", w.api.writes-apiWrites)
	case w.store.reads-reads > most || w.store.writes-writes > most:
		w.fail("L7", "the store was read %d times and written %d times at rest", w.store.reads-reads, w.store.writes-writes)
	}
}

// cleanUp checks L8: a deleted JobSet leaves nothing in the store. One in four histories, and every history with forged values,
// ends with this check.
func (w *world) cleanUp() {
	if w.breach != nil || w.seed%4 != 0 && !w.truth.forged || w.api.current == nil {
		return
	}
	w.api.spec("user", func(js *jobSet) { js.deleted = true })
	clean := func() bool { return len(w.store.first.names()) <= 1 && w.api.current == nil }
	for limit := w.now + 3*time.Minute; w.breach == nil && !clean(); w.run(5 * time.Second) {
		if w.now > limit {
			w.fail("L8", "three minutes after the deletion of the JobSet, the store still holds %v", w.store.first.names())
		}
	}
}
