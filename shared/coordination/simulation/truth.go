package simulation

import (
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// truth is what really happened. It is kept separate from the protocol and hidden from it. The checks compare the two.
type truth struct {
	*world
	instances     map[string]*instance
	desired       map[string]rendezvous // by JobSet UID: the newest round that any server has published
	rounds        map[roundKey]int64    // by UID and generation: the highest round
	ended         map[roundKey]bool     // in-place restarts have ended
	other         rounds.Level          // level of the bystander
	losses        int                   // how often the store lost data
	orders        int                   // number of orders to stop a worker
	given         int                   // slots that were given to spares
	excuses       map[*job]bool         // Jobs that were deleted by hand
	forged        bool                  // a member has written forged values
	failedInPeace bool                  // the JobSet has failed after the faults
	resumed       bool                  // a group was resumed or resized: all members join its round again
	resized       bool                  // a group was resized
	silenced      []string              // slots whose pods were on a node that became silent
	fenced        map[string]rendezvous // by pod: the round in which it was released
}

type roundKey struct {
	uid        string
	generation int64
}

func newTruth(w *world) *truth {
	return &truth{
		world: w, instances: map[string]*instance{}, desired: map[string]rendezvous{}, rounds: map[roundKey]int64{}, ended: map[roundKey]bool{},
		excuses: map[*job]bool{}, fenced: map[string]rendezvous{},
	}
}

func (t *truth) born(c *instance) { t.instances[c.id] = c }

// lost is called when a server gets other data than its own latest.
func (t *truth) lost() {
	t.losses++
	for _, c := range t.instances {
		c.known = false
	}
}

func (t *truth) excused(j *job) { t.excuses[j] = true }

// refused revokes an order that the runtime did not execute.
func (t *truth) refused(c *instance) {
	if c != nil {
		c.orders--
	}
}

// note records the newest round.
func (t *truth) note(uid string, v *view) {
	now := rendezvous{v.Generation, v.Round}
	if t.desired[uid].less(now) {
		t.desired[uid] = now
	}
	key := roundKey{uid, v.Generation}
	t.rounds[key] = max(t.rounds[key], v.Round)
	if v.Phase == coordination.Terminal || v.Phase == coordination.Recreating {
		if !t.ended[key] {
			t.blamed(v)
		}
		t.ended[key] = true
	}
}

// step is one call of the store: what the checks need in addition to the group before and after it.
type step struct {
	call  rounds.Call // call of an agent
	pod   *pod        // nil if it is a call of the leader
	reply string
	// repeated: it is executed once more, and nobody hears the answer.
	repeated bool
	// others is how many other members joined in the same call.
	others int
	why    string      // for the leader: the reason of a write, or of a release
	slot   rounds.Slot // the slot that is released
	heir   rounds.Slot // and the pod that gets it
	token  coordination.Token
	err    error
}

// calledFor is the slot that an agent's call is about.
func (s step) calledFor() string {
	switch {
	case s.pod == nil:
		return s.slot.Name
	case s.call.Function == rounds.FunctionJoin:
		return s.call.Arguments[4].(string)
	}
	return s.call.Arguments[2].(string)
}

// heard records what a call and its answer mean for their instance.
func (t *truth) heard(did step, before *view) {
	if did.pod == nil && did.slot.Pod != "" && did.err == nil && !before.IsFenced(did.slot.Pod) {
		t.fenced[did.slot.Pod] = rendezvous{before.Generation, before.Round}
	}
	if did.pod == nil || did.err != nil {
		return
	}
	a := did.call.Arguments
	switch did.call.Function {
	case rounds.FunctionJoin:
		if answer, _ := rounds.ParseAnswer(did.reply); answer.Kind != rounds.AnswerJoined {
			return // a join that replaces a dead instance is repeated in the round that this death has opened
		}
		if c := t.instances[a[6].(string)]; c != nil && a[0] == before.Level.Incarnation && a[2] == before.Round {
			now := rendezvous{before.Generation, before.Round}
			if c.assigned && c.lifted && c.given.generation == now.generation && c.given.round < now.round && t.losses == 0 && c.joinedBy == did.pod.agent.run {
				t.fail("S5", "%s runs in round %d and joins round %d", c.id, c.given.round, now.round)
			}
			run := did.pod.agent.run
			if did.repeated && (!c.assigned || c.given != now) {
				run = unheard
			}
			c.assigned, c.given, c.joinedBy, c.saved = true, now, run, false
		}
	case rounds.FunctionDown:
		if c := t.instances[a[4].(string)]; c != nil && t.store.second == nil && did.reply != string(rounds.AnswerOver) {
			c.known = true
		}
	}
}

// saved is called before an agent's file is written.
func (t *truth) saved(p *pod, m worker.Memory) {
	if c := t.instances[m.Instance.ID]; c != nil && c.assigned && c.given.round == m.Instance.Round {
		c.saved = true
	}
	before := rendezvous{p.volume.memory.Generation, p.volume.memory.Highest}
	after := rendezvous{m.Generation, m.Highest}
	if p.volume.has && after.less(before) {
		t.fail("S1", "the agent of %s goes back from round %d.%d to %d.%d", p.uid, before.generation, before.round, after.generation, after.round)
	}
}

// lineSlot returns the slot that caused a round, according to the history, "" if a pod was replaced without a report.
func (v *view) lineSlot() string { return strings.TrimPrefix(v.Record.Cause.Slot, "-") }
