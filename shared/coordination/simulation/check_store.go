package simulation

import (
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
	"github.com/holdfast-project/holdfast/shared/coordination/memory"
)

// called checks one call of the store: who may change what, and which steps a group may take.
func (t *truth) called(s *server, uid string, g *memory.Group, c call, before view, err error) {
	after := t.look(g, c.slot)
	if c.pod == nil && err == nil && c.token.Less(before.token) {
		t.fail("S8", "%s with the token of a leader that was replaced is obeyed", c.verb)
	}
	if before.changed(after) {
		t.checkFencing(uid, g, c, before)
	}
	if after.Level != before.Level {
		t.checkStep(uid, g, c, before)
	}
	if g.Phase == coordination.Running && (before.Phase != coordination.Running || before.Round != g.Round) {
		t.checkBarrier(uid, g)
		t.checkPeers(uid, g)
	}
	t.checkBystander(s)
	t.note(uid, g)
	if held, ok := g.Slots[c.slot]; ok && c.pod != nil && held.Pod == c.pod.uid {
		t.held[c.pod.uid] = holding{uid, g.Epoch}
	}
}

// checkBystander is S11: what happens to one group changes no other.
func (t *truth) checkBystander(s *server) {
	g := s.view(otherUID)
	if g == nil {
		return
	}
	if t.other == (coordination.Level{}) {
		t.other = g.Level
	}
	if g.Level != t.other || g.Joined != 0 || len(g.Slots) != 0 {
		t.fail("S11", "the group of another JobSet has changed: %s", g.Level)
	}
}

// checkFencing is S9, S11 and S14: which pods may change a group.
func (t *truth) checkFencing(uid string, g *memory.Group, c call, before view) {
	if c.pod == nil {
		return
	}
	if c.pod.job.owner != uid {
		t.fail("S11", "a pod of JobSet %s changed the group of %s", c.pod.job.owner, uid)
	}
	if holder := t.podByUID(before.slot.Pod); before.has && holder != nil && holder.serial > c.pod.serial && !t.skewed {
		if c.pod.born < holder.born {
			t.fail("S14", "%s of %s changed the group, whose slot %s holds", c.verb, c.pod.uid, holder.uid)
		}
	}
	if h, ok := t.held[c.pod.uid]; ok && h.uid == uid && h.epoch < before.Epoch {
		t.fail("S9", "%s of %s, a pod of epoch %d, changed the group in epoch %d", c.verb, c.pod.uid, h.epoch, before.Epoch)
	}
}

// podByUID finds a pod by an instance of it.
func (t *truth) podByUID(uid string) *pod {
	for _, p := range t.pods {
		if p.uid == uid {
			return p
		}
	}
	return nil
}

// checkStep is S2, S6 and S7: which steps a group may take, and why.
func (t *truth) checkStep(uid string, g *memory.Group, c call, before view) {
	sameLife := g.Incarnation == before.Incarnation && g.Generation == before.Generation && g.Epoch == before.Epoch
	switch {
	case g.Epoch < before.Epoch:
		t.fail("S1", "the epoch fell from %d to %d", before.Epoch, g.Epoch)
	case g.Incarnation == before.Incarnation && g.Seq <= before.Seq:
		t.fail("S1", "the level changed from %s to %s without a sequence number of its own", before.Level, g.Level)
	case sameLife && before.Phase != coordination.Recovering && g.Round < before.Round:
		t.fail("S1", "the round fell from %d to %d", before.Round, g.Round)
	}
	if g.Phase == coordination.Recreating && before.Phase != g.Phase && g.Record.Cause.Kind == coordination.KindGap && t.losses == 0 {
		t.fail("S2", "the guard against a gap fired though no data were lost")
	}
	if g.Round > before.Round && g.Epoch == before.Epoch {
		t.checkRound(uid, g, c, before)
	}
	if g.Phase == coordination.Recreating && before.Phase == coordination.Running && c.verb == "recreate" {
		t.fail("S2", "Running(%d) was given up, and nobody had failed", before.Round)
	}
}

// checkRound is about a round that has just been opened.
func (t *truth) checkRound(uid string, g *memory.Group, c call, before view) {
	if g.Round > max(before.limit, before.Round) && t.losses == 0 {
		t.fail("S7", "round %d was opened, the budget ends at %d", g.Round, before.limit)
	}
	if before.done == int64(len(t.slots)) {
		t.fail("S10", "round %d was opened though every worker has finished", g.Round)
	}
	if before.Phase == coordination.Recovering || g.Generation != before.Generation {
		return // the rounds of the agents are believed; what they add up to is checked by L4
	}
	if g.Round != before.Round+1 {
		t.fail("S6", "one call took the round from %d to %d", before.Round, g.Round)
	}
	unfinished := before.Phase == coordination.Restarting || before.Phase == coordination.Forming
	if unfinished && oneStep(g) && before.joined < g.Size-1 {
		t.fail("S6", "round %d was opened while %d of %d had joined round %d", g.Round, before.joined, g.Size, before.Round)
	}
	if c.verb == repair {
		return // a known gap: the worker may join between the look and the eviction, see TestKnownGaps
	}
	t.checkCause(uid, g, c, before)
}

// checkCause is S2: a round is opened for an instance of the round before that has really died, or was replaced.
func (t *truth) checkCause(uid string, g *memory.Group, c call, before view) {
	if c.verb == lostPod {
		if holder := t.instances[before.slot.ID]; holder != nil && !holder.pod.lost() {
			t.fail("S2", "round %d was opened by the eviction of %s, which is there", g.Round, holder.pod.uid)
		}
		return
	}
	cause := g.Record.Cause
	d := rendezvous{before.Epoch, before.Round}
	for _, i := range t.instances {
		if i.pod.slot != cause.Slot || i.pod.job.owner != uid {
			continue
		}
		early := !oneStep(g) && !d.less(i.given) // it died while its step formed, at the round of that time
		inRound := !i.assigned || i.given == d || early || t.losses > 0
		byItself := !i.ordered || t.losses > 0 || i.pod.killed || i.pod.over
		if inRound && !i.running && byItself {
			return
		}
		if cause.Kind == coordination.KindPod && (i.pod.gone || i.pod.over || i.pod.duplicate || i.pod.deleting || t.replaced(i.pod)) {
			return
		}
	}
	t.fail("S2", "round %d was opened for %s of %s, where nothing of round %d has died", g.Round, cause.Kind, cause.Slot, before.Round)
}

// replaced tells whether a younger pod of the same slot is there.
func (t *truth) replaced(p *pod) bool {
	for _, other := range t.pods {
		if other.slot == p.slot && other.job.owner == p.job.owner && other.serial > p.serial {
			return true
		}
	}
	return false
}

// checkBarrier is S5: in Running each slot of the steps that have entered has a live instance of the round, or one that
// finished by itself.
func (t *truth) checkBarrier(uid string, g *memory.Group) {
	for _, slot := range t.slots {
		step := t.stepOf(slot)
		held, joined := g.Slots[slot]
		entered, ok := g.Entered(step)
		switch {
		case !ok: // it forms, or it has left
		case !joined:
			t.fail("S5", "Running(%d), and nobody has joined for %s", g.Round, slot)
		case held.Finished:
		case held.Dead || max(held.Round, entered) != g.Round || held.Generation != g.Generation || g.Fenced[held.Pod]:
			t.fail("S5", "Running(%d) with %+v in %s", g.Round, held, slot)
		default:
			t.checkLife(uid, g, slot, held)
		}
	}
}

// stepOf is the step of a slot.
func (w *world) stepOf(slot string) int64 {
	for _, stage := range w.shape.stages() {
		if stage.Has(slot) {
			return stage.Step
		}
	}
	return 0
}

func (t *truth) checkLife(uid string, g *memory.Group, slot string, held functions.Slot) {
	i := t.instances[held.ID]
	switch {
	case i == nil || i.pod.uid != held.Pod || i.pod.slot != slot || i.pod.job.owner != uid:
		t.fail("S5", "Running(%d) with an instance %q in %s that never was there", g.Round, held.ID, slot)
	case i.known:
		t.fail("S5", "Running(%d) with %s in %s, whose death was reported", g.Round, held.ID, slot)
	}
}

// checkPeers is S6 for workers without a barrier: one that died in this round may have left its peers in a rendezvous that
// never ends, so the round must not be taken for a good one. An exit 0 is taken for success until a new pod comes.
func (t *truth) checkPeers(uid string, g *memory.Group) {
	d := rendezvous{g.Epoch, g.Round}
	for _, i := range t.instances {
		mine := i.pod.job.owner == uid && i.given == d && i.under.SameLife(g.Level) && i.pod.driver() == CRI
		_, entered := g.Entered(t.stepOf(i.pod.slot))
		if mine && entered && i.known && i.code != 0 && !i.ordered && t.store.second == nil {
			t.fail("S6", "Running(%d), though %s of this round died before all had joined", g.Round, i.ID)
		}
	}
}
