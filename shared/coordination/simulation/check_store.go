package simulation

import (
	"maps"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// called checks a store call: who may change what, and which steps a group may take.
func (t *truth) called(s *server, uid string, did step, before, after *view) {
	if did.pod == nil && did.err == nil && did.why != "" && did.token.Less(before.stored.Config.Token) {
		t.fail("S8", "the store accepts a call with the token of a replaced leader: %s", did.why)
	}
	t.resized = t.resized || did.why == string(group.Resizes)
	t.resumed = t.resumed || t.resized || did.why == string(group.Resumes)
	t.heard(did, before)
	t.checkHolder(uid, did, before, after)
	if after.Level != before.Level {
		t.checkStep(uid, did, before, after)
	}
	started := after.Level.Started > before.Level.Started || before.Round != after.Round || before.Level.Incarnation != after.Level.Incarnation
	if after.Level.Phase == rounds.Active && after.Level.Started > 0 && started {
		t.checkBarrier(uid, after)
		t.checkPeers(uid, after)
	}
	t.checkGiven(uid, did, before, after)
	t.checkBystander(s)
	t.note(uid, after)
}

// checkBystander checks S11: no call for one group changes another group.
func (t *truth) checkBystander(s *server) {
	l, err := s.functions.Level(otherUID)
	if err != nil {
		return
	}
	if t.other == (rounds.Level{}) {
		t.other = l
	}
	if l != t.other {
		t.fail("S11", "the group of another JobSet has changed: %s", l)
	}
}

// checkHolder checks S9, S11 and S14, which limit which pods may change a group.
func (t *truth) checkHolder(uid string, did step, before, after *view) {
	p := did.pod
	slot := did.calledFor()
	if p == nil || after.Level == before.Level && maps.Equal(before.joined, after.joined) && maps.Equal(before.holders, after.holders) {
		return
	}
	joins := before.joined[slot] != after.joined[slot] && strings.HasPrefix(after.joined[slot].id, p.uid+"/")
	if takes := before.holders[slot] != p.uid && after.holders[slot] == p.uid; did.others > 0 && !joins && !takes {
		return // another member of the call has changed the group
	}
	switch {
	case p.job.owner != uid:
		t.fail("S11", "a pod of JobSet %s changed the group of %s", p.job.owner, uid)
	case p.epoch < before.Generation:
		t.fail("S9", "%s, a pod of generation %d, changed the group in generation %d", p.uid, p.epoch, before.Generation)
	case before.IsFenced(p.uid) && !(did.call.Function == rounds.FunctionDown):
		t.fail("S14", "%s changed the group although the leader has released its slot", p.uid)
	case before.joined[slot] != after.joined[slot] && strings.HasPrefix(after.joined[slot].id, p.uid+"/") && after.holders[slot] != p.uid:
		t.fail("S14", "%s joined although %s holds %s", p.uid, after.holders[slot], slot)
	case before.holders[slot] != "" && before.holders[slot] != p.uid && before.holders[slot] != after.holders[slot]:
		t.fail("S14", "%s took %s, which %s held", p.uid, slot, before.holders[slot])
	}
}

// checkStep checks S1, S2, S6 and S7, which limit which steps a group may take, and why.
func (t *truth) checkStep(uid string, did step, before, after *view) {
	was, is := before.Level, after.Level
	same := is.Incarnation == was.Incarnation
	switch {
	case is.Generation < was.Generation:
		t.fail("S1", "the generation fell from %d to %d", was.Generation, is.Generation)
	case is.Generation == was.Generation && is.Round < was.Round:
		t.fail("S1", "the round fell from %d to %d", was.Round, is.Round)
	case same && is.Seq <= was.Seq:
		t.fail("S1", "the level changed from %s to %s without a new sequence number", was, is)
	case same && is.Round == was.Round && is.Started < was.Started:
		t.fail("S1", "units that were running in round %d are waiting for joins again", is.Round)
	}
	if is.Phase == rounds.Recreate && was.Phase == rounds.Active {
		t.checkEnd(did, before, after)
	}
	if is.Round > was.Round && is.Generation == was.Generation {
		t.checkRound(uid, did, before, after)
	}
}

// checkEnd checks that in-place restarts end for a reason.
func (t *truth) checkEnd(did step, before, after *view) {
	switch {
	case did.why == string(group.GivesUp) && before.Phase != coordination.Restarting:
		t.fail("S2", "round %d was abandoned, but no worker had failed", before.Round)
	case did.call.Function == rounds.FunctionAsk && did.call.Arguments[4] == coordination.KindGap && t.losses == 0:
		t.fail("S2", "the guard against a gap triggered although no data was lost")
	}
}

// checkRound checks a newly opened round.
func (t *truth) checkRound(uid string, did step, before, after *view) {
	if after.Round > max(before.Limit, before.Round) && t.losses == 0 {
		t.fail("S7", "round %d was opened, but the budget ends at %d", after.Round, before.Limit)
	}
	if len(before.finished) == len(before.slots()) {
		t.fail("S10", "round %d was opened although every worker has finished", after.Round)
	}
	if did.call.Function == rounds.FunctionLost {
		if t.losses == 0 {
			t.fail("S2", "round %d was restored although no data was lost", after.Round)
		}
		return // the rounds reported by agents are accepted; L4 checks the result
	}
	if after.Round != before.Round+1 {
		t.fail("S6", "one call changed the round from %d to %d", before.Round, after.Round)
	}
	if (t.losses > 0 || t.resumed) && did.call.Function == rounds.FunctionDown && did.call.Arguments[6] == 2 {
		return // the round had been started before the store lost that information or the group was suspended
	}
	if before.Level.Started < max(1, before.Level.Entered) && before.oneUnit() && before.Joined < before.Size-1-int64(did.others) {
		t.fail("S6", "round %d was opened while %d of %d had joined round %d", after.Round, before.Joined, before.Size, before.Round)
	}
	if did.why == repair {
		return // a known gap: the worker may join between the read and the release; see TestKnownGaps
	}
	t.checkCause(uid, did, before, after)
}

// checkCause checks S2: a round is opened only if an instance of the previous round has really died or a pod was lost.
func (t *truth) checkCause(uid string, did step, before, after *view) {
	if did.why == lostPod {
		if struck := t.instances[before.joined[did.slot.Name].id]; struck != nil && !struck.pod.lost() {
			t.fail("S2", "round %d was opened by the release of %s, but %s still exists", after.Round, did.slot.Pod, struck.pod.uid)
		}
		return
	}
	slot := after.lineSlot()
	if slot == "" && (t.losses > 0 || t.resized) {
		return // there are new pods next to running ones; a store that has lost data cannot distinguish these cases
	}
	round := rendezvous{before.Generation, before.Round}
	for _, i := range t.instances {
		if i.pod.job.owner != uid || slot != "" && i.slot != slot {
			continue
		}
		// An agent that has lost its file, or a store that was rolled back, cannot know in which round an instance died or why. An
		// agent that crashed after the answer to a join but before saving its file cannot know the round.
		unknown := t.losses > 0 || i.pod.forgot
		inRound := !i.assigned || i.given == round || unknown || slot == "" || !i.saved && i.joinedBy != i.pod.agent.run
		byItself := !i.ordered || unknown || i.pod.killed || i.pod.over
		if inRound && byItself && !i.running {
			return
		}
		if (after.Record.Cause.Kind == coordination.KindPod || slot == "") && i.pod.lost() {
			return // no one can know the state of its instance
		}
		if slot == "" && i.pod.forgot {
			return // it joins like a new pod, next to running ones
		}
	}
	t.fail("S2", "round %d was opened for %s of %q, but no instance of round %d has died there", after.Round, after.Record.Cause.Kind, slot, before.Round)
}

// checkBarrier checks S5: if a unit is running in a round, each of its slots has a live instance of the round, or a finished one.
func (t *truth) checkBarrier(uid string, v *view) {
	for _, slot := range v.slots() {
		if !v.isStarted(slot) || v.finished[slot] != "" {
			continue
		}
		m, joined := v.joined[slot]
		i := t.instances[m.id]
		switch {
		case !joined:
			t.fail("S5", "round %d is running, but no instance has joined for %s", v.Round, slot)
		case i == nil || i.slot != slot || i.pod.job.owner != uid:
			t.fail("S5", "round %d is running with instance %q, which never existed in %s", v.Round, m.id, slot)
		case i.known:
			t.fail("S5", "round %d is running with %s in %s, whose death was reported", v.Round, m.id, slot)
		}
	}
}

// met reports whether an instance that has joined was running at the same time as a dead one. After a suspension, all instances
// may be new.
func (t *truth) met(v *view, dead *instance) bool {
	for _, m := range v.joined {
		if i := t.instances[m.id]; i != nil && i != dead && i.started <= dead.exited {
			return true
		}
	}
	return false
}

// checkPeers checks S6 for workers without a barrier: a worker that died in this round may have left its peers in a rendezvous that
// never completes, so the round must not count as running. Exit code 0 counts as success until there is a new pod.
func (t *truth) checkPeers(uid string, v *view) {
	round := rendezvous{v.Generation, v.Round}
	for _, i := range t.instances {
		mine := i.pod.job.owner == uid && i.given == round && i.pod.driver() == CRI
		if mine && v.isStarted(i.slot) && i.known && i.code != 0 && !i.ordered && t.store.second == nil && t.losses == 0 && t.met(v, i) {
			t.fail("S6", "round %d is running although %s of this round died before all had joined", v.Round, i.id)
		}
	}
}
