package simulation

import (
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// truth is what really happened, kept beside the protocol and never shown to it. The checks compare the two.
type truth struct {
	*world
	instances     map[string]*instance
	desired       map[string]rendezvous // by JobSet UID: the newest round that any server has published
	rounds        map[roundKey]int64    // by UID and generation: the highest round
	ended         map[roundKey]bool     // restarts in place have ended
	other         rounds.Level          // of the bystander
	losses        int                   // how often the store lost data
	orders        int                   // to stop a worker
	excuses       map[*job]bool         // a Job was deleted by hand
	forged        bool                  // a member has written what it likes
	failedInPeace bool                  // the JobSet has failed after the faults
	resumed       bool                  // a group was resumed or resized: all join its round again
	resized       bool                  // a group was resized
}

type roundKey struct {
	uid        string
	generation int64
}

func newTruth(w *world) *truth {
	return &truth{
		world: w, instances: map[string]*instance{}, desired: map[string]rendezvous{}, rounds: map[roundKey]int64{}, ended: map[roundKey]bool{},
		excuses: map[*job]bool{},
	}
}

func (t *truth) born(c *instance) { t.instances[c.id] = c }

// lost is called when a server takes on other data than its own last ones.
func (t *truth) lost() {
	t.losses++
	for _, c := range t.instances {
		c.known = false
	}
}

func (t *truth) excused(j *job) { t.excuses[j] = true }

// refused takes back an order that the runtime did not follow.
func (t *truth) refused(c *instance) {
	if c != nil {
		c.orders--
	}
}

// note keeps the newest round.
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

// step is one call of the store: what the checks need to know beside the group before and after.
type step struct {
	call  rounds.Call // of an agent
	pod   *pod        // nil: the leader
	reply string
	why   string      // of the leader: the reason of a write, or of a release
	slot  rounds.Slot // that is released
	token coordination.Token
	err   error
}

// heard notes what a call and its answer mean for the instance that they are about.
func (t *truth) heard(did step, before *view) {
	if did.pod == nil || did.err != nil {
		return
	}
	a := did.call.Arguments
	switch did.call.Function {
	case rounds.FunctionJoin:
		if answer, _ := rounds.ParseAnswer(did.reply); answer.Kind != rounds.AnswerJoined {
			return // one that replaces a dead instance joins again, in the round that this death has opened
		}
		if c := t.instances[a[6].(string)]; c != nil && a[0] == before.Level.Incarnation && a[2] == before.Round {
			now := rendezvous{before.Generation, before.Round}
			if c.assigned && c.lifted && c.given.generation == now.generation && c.given.round < now.round && t.losses == 0 && c.joinedBy == did.pod.agent.run {
				t.fail("S5", "%s runs in round %d and joins round %d", c.id, c.given.round, now.round)
			}
			c.assigned, c.given, c.joinedBy, c.saved = true, now, did.pod.agent.run, false
		}
	case rounds.FunctionDown:
		if c := t.instances[a[4].(string)]; c != nil && t.store.second == nil && did.reply != string(rounds.AnswerOver) {
			c.known = true
		}
	}
}

// saved is asked before an agent's file is written.
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

// lineSlot is the slot that a round was opened for, as the history has it; empty: a pod was replaced without a report.
func (v *view) lineSlot() string { return strings.TrimPrefix(v.Record.Cause.Slot, "-") }
