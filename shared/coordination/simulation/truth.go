package simulation

import (
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// truth records what really happened. It is separate from the protocol and not accessible to it. The checks compare the two.
type truth struct {
	*world
	instances     map[string]*instance
	desired       map[string]rendezvous // newest round in any server, by JobSet UID
	rounds        map[roundKey]int64    // highest round, by JobSet UID and generation
	ended         map[roundKey]bool     // generations in which in-place restarts have ended
	other         rounds.Level          // level of the bystander
	losses        int                   // how often the store lost data
	orders        int                   // number of orders to stop a worker
	given         int                   // number of slots assigned to spares
	excuses       map[*job]bool         // Jobs that a fault has deleted or failed
	forged        bool                  // a member has written forged values
	failedInPeace bool                  // the JobSet has failed after the faults had ended
	resumed       bool                  // a group was resumed or resized, so all members join its round again
	resized       bool                  // a group was resized
	uncounted     bool                  // a pod was deleted before its Job had counted its success
	silenced      []string              // slots with pods on a node that became silent
	fenced        map[string]rendezvous // round in which a pod was released, by pod UID
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

// lost is called when a server loses data or gets the data of another server.
func (t *truth) lost() {
	t.losses++
	for _, c := range t.instances {
		c.known = false
	}
}

func (t *truth) excused(j *job) { t.excuses[j] = true }

// refused reverts the count of an order that the runtime did not execute.
func (t *truth) refused(c *instance) {
	if c != nil {
		c.orders--
	}
}

// note records a group's round, if it is new.
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

// step describes a store call: what the checks need in addition to the group before and after the call.
type step struct {
	call  rounds.Call // the agent's call
	pod   *pod        // nil for a call by the leader
	reply string
	// repeated means that the call was delivered twice and this answer is discarded.
	repeated bool
	// others is the number of other members that joined in the same call.
	others int
	why    string      // for calls by the leader: the reason for the write or the release
	slot   rounds.Slot // the released slot
	heir   rounds.Slot // the pod that is assigned the slot
	token  coordination.Token
	err    error
}

// calledFor returns the slot that the call is about.
func (s step) calledFor() string {
	switch {
	case s.pod == nil:
		return s.slot.Name
	case s.call.Function == rounds.FunctionJoin:
		return s.call.Arguments[4].(string)
	}
	return s.call.Arguments[2].(string)
}

// heard records what a call and its answer mean for the instance.
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
			return // a join that replaces a dead instance is repeated in the round that this death opens
		}
		if c := t.instances[a[6].(string)]; c != nil && a[0] == before.Level.Incarnation && a[2] == before.Round {
			now := rendezvous{before.Generation, before.Round}
			if c.assigned && c.lifted && c.given.generation == now.generation && c.given.round < now.round && t.losses == 0 && c.joinedBy == did.pod.agent.run {
				t.fail("S5", "%s is running in round %d but joins round %d", c.id, c.given.round, now.round)
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

// lineSlot returns the slot that caused the round, according to the history, or "" if a pod was replaced without a report.
func (v *view) lineSlot() string { return strings.TrimPrefix(v.Record.Cause.Slot, "-") }
