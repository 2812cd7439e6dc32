package simulation

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
	"github.com/holdfast-project/holdfast/shared/coordination/member"
	"github.com/holdfast-project/holdfast/shared/coordination/memory"
)

// truth is what really happened, kept beside the protocol and never shown to it. The checks compare the two.
type truth struct {
	*world
	instances map[string]*instance
	desired   map[string]rendezvous // by JobSet UID: the newest round that any server has published
	rounds    map[roundKey]int64    // by UID and epoch: the highest round
	ended     map[roundKey]bool     // the group came to Terminal or Recreating
	held      map[string]holding    // by pod UID: the slot it held since the store last lost data
	other     coordination.Level    // of the bystander
	losses    int                   // how often the store lost data
	skewed    bool                  // a clock was wrong, so births do not order what they should
	orders    int                   // to stop a worker
	fooled    bool                  // a worker without a barrier exited 0 because its pod was deleted
	excuses   map[*job]bool         // a Job was deleted by hand
}

type roundKey struct {
	uid   string
	epoch int64
}

type holding struct {
	uid   string
	epoch int64
}

func newTruth(w *world) *truth {
	return &truth{
		world: w, instances: map[string]*instance{}, desired: map[string]rendezvous{}, rounds: map[roundKey]int64{}, ended: map[roundKey]bool{},
		held: map[string]holding{}, excuses: map[*job]bool{},
	}
}

func (t *truth) born(c *instance) { t.instances[c.ID] = c }

// lost is called when a server takes on other data than its own last ones.
func (t *truth) lost() {
	t.losses++
	clear(t.held)
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

// reported notes that the store has taken in a death.
func (t *truth) reported(id string) {
	if c := t.instances[id]; c != nil && t.store.second == nil {
		c.known = true
	}
}

// opened notes a group that was created.
func (t *truth) opened(uid string, g *memory.Group) { t.note(uid, g) }

// note keeps the newest round.
func (t *truth) note(uid string, g *memory.Group) {
	now := rendezvous{g.Epoch, g.Round}
	if t.desired[uid].less(now) {
		t.desired[uid] = now
	}
	key := roundKey{uid, g.Epoch}
	t.rounds[key] = max(t.rounds[key], g.Round)
	if g.Phase == coordination.Terminal || g.Phase == coordination.Recreating {
		t.ended[key] = true
	}
}

// view is what a call may change of a group, and of the slot it is about.
type view struct {
	coordination.Level
	token        coordination.Token
	limit        int64
	joined, done int64
	dirty        bool
	coalesced    int64
	has          bool
	slot         functions.Slot
}

func (t *truth) look(g *memory.Group, slot string) view {
	v := view{
		Level: g.Level, token: g.Token, limit: g.Limit, joined: g.Joined, done: g.Done, dirty: g.Dirty, coalesced: g.Record.Coalesced,
	}
	v.slot, v.has = g.Slots[slot]
	return v
}

// changed tells whether a call had an effect on the group.
func (v view) changed(after view) bool {
	v.token, after.token = coordination.Token{}, coordination.Token{}
	return v != after
}

// oneStep reports whether all stages start together.
func oneStep(g *memory.Group) bool {
	return !slices.ContainsFunc(g.Stages, func(s coordination.Stage) bool { return s.Step > 0 })
}

// answered notes the round that the store gave an instance.
func (t *truth) answered(s *server, p *pod, id string, r coordination.Reply, err error) {
	c, g := t.instances[id], s.view(p.job.owner)
	if err != nil || r.Round == coordination.NoRound || c == nil || g == nil || g.Slots[p.slot].ID != id {
		return // a late join is answered with the round of the instance that came after
	}
	now := rendezvous{r.Level.Epoch, r.Round}
	if c.assigned && c.given != now && t.losses == 0 && oneStep(g) {
		t.fail("S5", "%s had round %d.%d and is given %d.%d: the round of an instance is fixed when it joins", id, c.given.epoch, c.given.round, now.epoch, now.round)
	}
	c.assigned, c.given, c.under = true, now, r.Level
}

// saved is asked before an agent's file is written.
func (t *truth) saved(p *pod, m member.Memory) {
	before := rendezvous{p.volume.memory.Epoch, p.volume.memory.Round}
	after := rendezvous{m.Epoch, m.Round}
	if p.volume.has && after.less(before) {
		t.fail("S1", "the agent of %s goes back from round %d.%d to %d.%d", p.uid, before.epoch, before.round, after.epoch, after.round)
	}
}
