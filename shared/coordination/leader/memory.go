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

// Memory is what a leader knows about one group beyond what is in the API server and the store. A new leader starts with an empty Memory. The
// consequences, by field:
//
//   - restart: the restart clock starts from zero, so a timeout may be late but is never early. The names of the late workers are read again,
//     and a pod or Job may be deleted a second time
//   - formation: one event is repeated, and the pods of a step may be deleted a second time
//   - created: one extra pod may be created for a slot
//   - seen: if the store has also lost its data, these pods are released again only when new pods want their slots. A worker that exited with
//     code 0 because its pod was deleted counts as finished.
//     If it loses its data before a pod is annotated with its slot, only the pod's agent knows the slot
//   - recoveredAt: if the round of the recovery is over, a slot may be assigned to a spare although its worker has not rejoined
//     yet
//   - repairs: no effect, because a repair does not outlive its reconcile
//   - holdersKnown, holding, seq: the store is queried once about the slots of all pods
//   - holdersChecked, nodesChecked, missedChecked: an expensive check runs early
//   - accounted: the history is read once more; an annotation on the owner records which restarts were already counted
type Memory struct {
	restart *restartMemory // nil if no restart is in progress
	formation
	created     roundPods
	seen        seen
	repairs     repairs
	recoveredAt time.Time // when this process observed that the store had lost the group, or had been reset to an earlier state

	accounted rounds.Level // the level at which the history was last read; without a phase if it was never read

	holdersKnown                                time.Time       // pods created earlier hold their slots
	holding                                     map[string]bool // pods created since then that hold their slots
	seq                                         int64           // sequence number of the group when the holders were determined
	holdersChecked, nodesChecked, missedChecked time.Time
}

type deadline = grace.Deadline

// Restarting reports whether a restart is in progress.
func (m *Memory) Restarting() bool { return m.restart != nil }

// restartMemory is what the leader remembers about the restart in progress.
type restartMemory struct {
	Round
	since time.Time // when this process first observed it
	late  string    // the end of the condition's message, which names the workers that were missing when the store was queried; empty before that
}

// clock returns the deadline of the restart in progress, or nil if there is none. It relies only on this process's clock. While the
// workers keep running and only the store's data is being restored, the clock is restarted before it reaches the first repair.
func (m *Memory) clock(g *group.Summary, timeout time.Duration, now time.Time) *deadline {
	if g == nil {
		return nil
	}
	if g.Phase != coordination.Restarting {
		m.restart = nil
		return nil
	}
	r, round := m.restart, Round{g.Generation, g.Round}
	stands := r != nil && onlyCollects(g) && now.Sub(r.since) >= timeout/4 // earlier than the first repair
	if r == nil || r.Round != round || stands {
		m.restart = &restartMemory{Round: round, since: now}
	}
	return &deadline{Start: m.restart.since, Period: timeout}
}

// onlyCollects reports whether the store has lost the group and no worker is known to be waiting for others to rejoin. In this state, a late agent
// must not cause running workers to be stopped.
func onlyCollects(g *group.Summary) bool {
	return g.Record.Cause.Kind == coordination.KindRecovery && !g.Died && (g.Runs || g.Joined == 0)
}

// formation is what the leader remembers about steps that are waiting for workers to join for the first time.
type formation struct {
	epoch    int64
	answered map[int64]time.Time // when pods of a step were last deleted
	named    map[int64]bool      // steps whose missing workers have been named in an event, which is done once per epoch
	// pending are the pods to delete. The decision was based on the given incarnation of the stored group.
	pending     []victim
	incarnation string
}

// in returns the formation, after resetting it if it belongs to another epoch.
func (f *formation) in(l rounds.Level) *formation {
	if f.epoch != l.Generation || f.answered == nil {
		*f = formation{epoch: l.Generation, answered: map[int64]time.Time{}, named: map[int64]bool{}}
	}
	if f.incarnation != l.Incarnation {
		f.incarnation, f.pending = l.Incarnation, nil
	}
	return f
}

// roundPods counts the pods that were created for each slot in a round.
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

// replacements counts the pods that the leader created for a slot in one round. Most rounds need none or one. If such a pod ends
// before its slot has joined, the next one is created after an increasing delay. Nothing else limits their number, because they do
// not count as restarts.
type replacements struct {
	created int
	last    time.Time
	ok      bool // the last attempt succeeded
}

const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// due returns when the next pod may be created: the first pod immediately, later ones after 1 s, 2 s, 4 s and so on, up to 30 s.
func (r replacements) due() time.Time {
	if r.created == 0 {
		return time.Time{}
	}
	return r.last.Add(min(firstPause<<min(r.created-1, 10), maxPause))
}

// arrives reports whether a pod was created so recently that the cache may not contain it yet.
func (r replacements) arrives(now time.Time) bool { return r.ok && r.due().After(now) }

// seen is what this process has observed in one generation of the group.
type seen struct {
	generation int64
	released   []rounds.Slot     // pods that it has released, with their slots, in the order of their release
	given      map[string]string // slots assigned to pods in the store, by pod UID
}

// in returns what was observed in the given generation, or an empty value if s belongs to another generation.
func (s seen) in(generation int64) seen {
	if s.generation != generation {
		return seen{generation: generation}
	}
	return s
}

func (s *seen) release(generation int64, slot rounds.Slot) {
	*s = s.in(generation)
	if !slices.ContainsFunc(s.released, func(known rounds.Slot) bool { return known.Pod == slot.Pod }) {
		s.released = append(s.released, slot)
	}
}

func (s *seen) give(generation int64, given []rounds.Seat) {
	if *s = s.in(generation); s.given == nil {
		s.given = map[string]string{}
	}
	for _, seat := range given {
		s.given[seat.Pod] = seat.Name
	}
}

// repairs are the decisions that the ladder made in one reconcile. All of them are executed, even though the first ones would
// change what the ladder decides about the rest.
type repairs struct {
	began time.Time
	// incarnation identifies the stored group that the decisions are based on.
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

// recheckHolders forgets which pods hold their slots if the store was reset to an earlier state, because earlier pods may hold
// the slots again, and workers whose joins were lost must join again.
func (m *Memory) recheckHolders(o *Observation) {
	if o.Stored.State.Level.Seq < m.seq || o.Stored.Config.Token != o.Token {
		m.holdersKnown, m.holding = time.Time{}, nil
	}
	if o.Stored.State.Level.Seq < m.seq {
		m.recoveredAt = o.Began
	}
	m.seq = o.Stored.State.Level.Seq
}
