package leader

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// Memory is what a leader knows about one group in addition to the API server and the store. A new leader starts without it:
//
//   - restart: the clock of a restart starts again, so that a timeout is late and never early. The late workers of the restart are read again, and a pod or Job may be deleted once more for it.
//   - formation: one event is repeated, and the pods of a step may be deleted once more
//   - created: one pod too many is tried for a slot
//   - released: if the store has also lost its data, the slots of these pods are released again when a new pod asks for one. A worker that exited with code
//     0 because its pod was deleted is taken for finished
//   - given: if the store loses its data before the annotation of a pod was written, only the pod's agent knows its slot
//   - recoveredAt: if the round of the recovery is over, a slot may be given while its worker has not joined again
//   - repairs: none outlives its reconcile
//   - holdersKnown, holding, seq: the store is asked once about the slots of all pods
//   - holdersChecked, fencesChecked, nodesChecked, missedChecked: an expensive check is done early
//   - accounted: the history is read once more; an annotation of the owner has the restarts that were counted
type Memory struct {
	restart *restartMemory // nil if none is in progress
	formation
	created     roundPods
	released    releasedPods
	given       givenSlots
	repairs     repairs
	recoveredAt time.Time // when this process restored the group, because the store had lost it

	accounted rounds.Level // when the history was last read; without a phase if it was not

	holdersKnown                                               time.Time       // pods created earlier hold their slots
	holding                                                    map[string]bool // pods created later that hold their slots
	seq                                                        int64           // of the group when they were known
	holdersChecked, fencesChecked, nodesChecked, missedChecked time.Time
}

type deadline = grace.Deadline

// Restarting reports whether a restart is in progress.
func (m *Memory) Restarting() bool { return m.restart != nil }

// restartMemory is about the restart in progress.
type restartMemory struct {
	Round
	since time.Time // when this process first observed it
	late  string    // the end of the condition's message: the workers that were missing when the store was asked; empty before
}

// clock returns the deadline of the restart in progress, or nil if there is none. It uses only the clock of this process. It is paused
// while only data is missing.
func (m *Memory) clock(g *group.Summary, timeout time.Duration, now time.Time) *deadline {
	if g == nil {
		return nil
	}
	if g.Phase != coordination.Restarting {
		m.restart = nil
		return nil
	}
	r, round := m.restart, Round{g.Generation, g.Round}
	stands := r != nil && onlyCollects(g) && now.Sub(r.since) >= timeout/4 // before the first repair
	if r == nil || r.Round != round || stands {
		m.restart = &restartMemory{Round: round, since: now}
	}
	return &deadline{Start: m.restart.since, Period: timeout}
}

// onlyCollects reports whether the store has lost the group, and no worker is known to wait for those that have not joined again. A late agent must not cause running workers to be stopped.
func onlyCollects(g *group.Summary) bool {
	return g.Record.Cause.Kind == coordination.KindRecovery && !g.Died && (g.Runs || g.Joined == 0)
}

// formation is about steps that wait for workers to join for the first time.
type formation struct {
	epoch    int64
	answered map[int64]time.Time // when pods of a step were last deleted
	named    map[int64]bool      // the steps whose workers an event has named
	// pending are the pods to delete, according to the data of an incarnation in the store.
	pending     []victim
	incarnation string
}

// in returns the formation of an epoch.
func (f *formation) in(l rounds.Level) *formation {
	if f.epoch != l.Generation || f.answered == nil {
		*f = formation{epoch: l.Generation, answered: map[int64]time.Time{}, named: map[int64]bool{}}
	}
	if f.incarnation != l.Incarnation {
		f.incarnation, f.pending = l.Incarnation, nil
	}
	return f
}

// name reports whether an event should name the workers of a step: once for each epoch.
func (f *formation) name(step int64) bool {
	before := f.named[step]
	f.named[step] = true
	return !before
}

// roundPods are the pods that were created for the slots in a round.
type roundPods struct {
	Round
	slots map[string]replacements
}

func (p *roundPods) in(round Round) map[string]replacements {
	if p.slots == nil || p.Round != round {
		*p = roundPods{round, map[string]replacements{}}
	}
	return p.slots
}

// note counts an attempt to create a pod.
func (p *roundPods) note(round Round, slot string, now time.Time, ok bool) {
	slots := p.in(round)
	slots[slot] = replacements{slots[slot].created + 1, now, ok}
}

// replacements counts the new pods that a slot got from the leader in one round. Most rounds need none or one. If a pod ends before
// its slot has joined, the next one is created after a growing delay: such a pod is not charged as a restart, so nothing else would
// limit them.
type replacements struct {
	created int
	last    time.Time
	ok      bool // the last attempt succeeded
}

const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// due returns when the next pod may be created: the first immediately, the others after 1 s, 2 s, 4 s and so on, up to 30 s.
func (r replacements) due() time.Time {
	if r.created == 0 {
		return time.Time{}
	}
	return r.last.Add(min(firstPause<<min(r.created-1, 10), maxPause))
}

// arrives reports whether a pod was created so recently that the cache may not have it yet.
func (r replacements) arrives(now time.Time) bool { return r.ok && r.due().After(now) }

// releasedPods are the pods that this process has released in a generation, in order, with their slots.
type releasedPods struct {
	generation int64
	slots      []rounds.Slot
}

func (p *releasedPods) note(generation int64, slot rounds.Slot) {
	if p.generation != generation {
		*p = releasedPods{generation: generation}
	}
	if !slices.ContainsFunc(p.slots, func(known rounds.Slot) bool { return known.Pod == slot.Pod }) {
		p.slots = append(p.slots, slot)
	}
}

// in returns the pods released in a generation.
func (p *releasedPods) in(generation int64) []rounds.Slot {
	if p.generation != generation {
		return nil
	}
	return p.slots
}

// givenSlots are the slots of a generation that were given to pods in the store, as far as this process has observed, by the UID of the pod.
type givenSlots struct {
	generation int64
	slots      map[string]string
}

// note adds the slots that the store has.
func (g *givenSlots) note(generation int64, given []rounds.Seat) {
	if g.generation != generation || g.slots == nil {
		*g = givenSlots{generation, map[string]string{}}
	}
	for _, s := range given {
		g.slots[s.Pod] = s.Name
	}
}

// in returns the slots of a generation.
func (g *givenSlots) in(generation int64) map[string]string {
	if g.generation != generation {
		return nil
	}
	return g.slots
}

// repairs are the decisions of the ladder in a reconcile. All of them are executed, although the first ones change what the ladder
// would decide about the others.
type repairs struct {
	began time.Time
	// incarnation is that of the stored group on which they are based.
	incarnation string
	pods        []victim
	jobs        []victim
}

// victim is a pod or a Job to delete for a slot.
type victim struct {
	slot string
	pod  *workload.Pod
	job  *workload.Job
	why  string
}

// recheckHolders forgets which pods hold their slots if the store was set back: it may have the earlier holders again.
func (m *Memory) recheckHolders(o *Observation) {
	if o.Stored.State.Level.Seq < m.seq || o.Stored.Config.Token != o.Token {
		m.holdersKnown, m.holding = time.Time{}, nil
	}
	m.seq = o.Stored.State.Level.Seq
}
