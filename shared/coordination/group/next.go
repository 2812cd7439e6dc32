// Package group contains the leader's rules for the stored group: what to write next, given what is stored and what the owner asks
// for. The rules are pure. The orchestrator and the simulation apply each write that Next returns in one compare-and-set.
package group

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Wanted describes the group that an owner asks for.
type Wanted struct {
	Token      coordination.Token
	Generation int64         // from 1; it increases whenever the owner deletes the group's pods on purpose
	Limit      int64         // number of restarts allowed in the generation
	MaxPause   time.Duration // upper limit of the pause after short rounds
	Stages     []coordination.Stage
	Suspended  bool
	Barrier    bool // instances wait until their unit is started, and finished instances are held there
	GiveUp     bool // the restart in progress has timed out
	// Used only if the store has lost the group:
	Round    int64         // restarts counted in the generation
	Entered  int64         // number of steps whose Jobs exist
	Fenced   []string      // UIDs of pods that were released from their slots
	Given    []rounds.Seat // slots assigned to pods of other slots, with those pods
	Finished []string      // slots whose workers have finished
}

// Write is a write that the leader makes to a group.
type Write struct {
	Reason   Reason
	Before   string // stored form of the state to replace; empty if the store has no group
	State    rounds.State
	Config   rounds.Config
	Finished []rounds.FinishedSlot // slots to record as finished before the state is written
}

// Line returns the line that the write adds to the history, or nil. New generations and abandoned restarts get a line. So does a
// group that is restored because the store has lost it, since the history was lost too.
func (w Write) Line() *rounds.Line {
	l := rounds.Line{Generation: w.State.Generation, Round: w.State.Round, Slot: "-"}
	switch {
	case w.Reason == Regenerates, w.Reason == Opens && w.State.Round == 0 && w.State.Entered == 0:
	case w.Reason == Opens:
		l.Cause = coordination.KindRecovery
	case w.Reason == GivesUp:
		l.Round, l.Ends, l.Cause = w.State.Round+1, true, coordination.KindTimeout
	default:
		return nil
	}
	return &l
}

// Reason is why the leader writes.
type Reason string

const (
	Opens       Reason = "the group is new, or the store has lost it"
	Regenerates Reason = "the owner has emptied the group"
	Closes      Reason = "the owner is suspended"
	Resumes     Reason = "the owner is resumed"
	Resizes     Reason = "the stages have changed"
	Adjusts     Reason = "the budget, the longest pause or the leader has changed"
	GivesUp     Reason = "the restart has used up its time"
	Completes   Reason = "all that is needed has finished"
	Leaves      Reason = "a stage has finished"
	Knows       Reason = "the Jobs know of finished workers that the store does not"
)

// planner holds the input to the rules.
type planner struct {
	stored   *rounds.Stored // nil if the store has no readable group
	want     Wanted
	layout   layout
	config   rounds.Config // the wanted configuration
	finished []int64       // the highest known number of finished slots, by unit
	fresh    string        // incarnation to use if the members must join again
}

// rules are tried in this order. The first one that applies determines the write.
var rules = []struct {
	reason Reason
	rule   func(planner) (rounds.State, bool)
}{
	{Opens, planner.open},
	{Regenerates, planner.regenerate},
	{Closes, planner.close},
	{Resumes, planner.resume},
	{Resizes, planner.resize},
	{GivesUp, planner.giveUp},
	{Completes, planner.complete},
	{Leaves, planner.leave},
	{Knows, planner.know},
	{Adjusts, planner.adjust},
}

// Next returns the next write, or false if the group is already as wanted. It also returns false if the stored generation is higher
// than the owner's: the owner has then lost its annotation, which must be restored first. stored is nil if the store has no readable
// group. incarnation is a new random name. Next returns an error if there are too many stages.
func Next(stored *rounds.Stored, want Wanted, incarnation string) (Write, bool, error) {
	if stored != nil && want.Generation < stored.State.Generation {
		return Write{}, false, nil
	}
	p, err := newPlanner(stored, want, incarnation)
	if err != nil {
		return Write{}, false, err
	}
	for _, r := range rules {
		state, applies := r.rule(p)
		if !applies {
			continue
		}
		w := Write{Reason: r.reason, State: state, Config: p.config}
		w.Config.Incarnation = state.Incarnation
		if stored != nil {
			w.Before = stored.Text
		}
		if r.reason == Opens || r.reason == Resumes || r.reason == Resizes || r.reason == Knows {
			w.Finished = p.finishedSlots()
		}
		return w, true, nil
	}
	return Write{}, false, nil
}

func newPlanner(stored *rounds.Stored, want Wanted, incarnation string) (planner, error) {
	l, err := layoutOf(want.Stages)
	if err != nil {
		return planner{}, err
	}
	p := planner{stored: stored, want: want, layout: l, fresh: incarnation, finished: make([]int64, len(l.units))}
	p.config = rounds.Config{
		Token: want.Token, Generation: want.Generation, Limit: want.Limit, MaxPause: want.MaxPause.Truncate(time.Millisecond),
		Units: slices.Clone(l.units), Stages: l.bounds,
	}
	same := stored != nil && stored.State.Generation == want.Generation
	switch {
	case same:
		p.config.Fenced, p.config.Given = stored.Config.Fenced, stored.Config.Given
	case stored == nil: // a new group gets the known fences and assignments; the store rejects pods of earlier generations anyway
		p.config.Fenced = slices.Compact(slices.Sorted(slices.Values(want.Fenced)))
		p.config.Given = slices.SortedFunc(slices.Values(want.Given), func(a, b rounds.Seat) int { return cmp.Compare(a.Name, b.Name) })
	}
	for _, f := range p.finishedSlots() {
		p.finished[f.Unit]++
	}
	if same && !p.resized() {
		p.config.Incarnation = stored.Config.Incarnation
		for u := range l.units {
			p.finished[u] = max(p.finished[u], stored.Finished[u])
			if stored.State.Left.Has(u) {
				p.config.Units[u].Slots = 0
			}
		}
	}
	return p, nil
}

// resized reports whether the wanted stages differ from the stored ones. It does not compare slot counts, because a unit that has
// left is stored with zero slots.
func (p planner) resized() bool {
	return !slices.Equal(p.stored.Config.Stages, p.layout.bounds) || len(p.stored.Config.Units) != len(p.layout.units)
}

func (p planner) finishedSlots() []rounds.FinishedSlot {
	var slots []rounds.FinishedSlot
	for _, s := range p.want.Stages {
		u, _ := slices.BinarySearchFunc(p.layout.keys, keyOf(s), compareKeys)
		for _, slot := range p.want.Finished {
			if s.Has(slot) {
				slots = append(slots, rounds.FinishedSlot{Unit: u, Slot: slot})
			}
		}
	}
	return slots
}

// begin returns the state of a group in the wanted generation that all members must join again.
func (p planner) begin(round int64, entered int) rounds.State {
	phase := rounds.Active
	if p.want.Suspended {
		phase = rounds.Closed
	}
	s := rounds.Fresh(rounds.Level{
		Incarnation: p.fresh, Generation: p.want.Generation, Phase: phase, Round: round, Entered: entered, Left: rounds.NoUnits,
	}, len(p.layout.units))
	s.Finished = p.cannotRunAgain(s.Left)
	return s
}

// open creates a group that the store does not have. The group starts at the last round that was counted against the budget, so
// that running workers can continue.
func (p planner) open() (rounds.State, bool) {
	entered := 0
	for u, k := range p.layout.keys {
		if k.step < p.want.Entered {
			entered = u + 1
		}
	}
	return p.begin(p.want.Round, entered), p.stored == nil
}

// regenerate starts the next generation at round 0. The generation in the store never decreases; see Next.
func (p planner) regenerate() (rounds.State, bool) {
	s := p.begin(0, 0)
	s.Finished = false // its Jobs may still be those of the previous generation
	return s, p.stored.State.Generation < p.want.Generation
}

func (p planner) close() (rounds.State, bool) {
	s := p.stored.State
	s.Phase = rounds.Closed
	return s, p.want.Suspended && p.stored.State.Phase != rounds.Closed
}

// resume makes all members join again, because the pods may be the same ones or new ones.
func (p planner) resume() (rounds.State, bool) {
	s := p.stored.State
	return p.begin(s.Round, p.entered()), s.Phase == rounds.Closed && !p.want.Suspended
}

// resize makes all members join again. Once all have joined, another round opens if some workers of a unit are already running while
// others are new, or if a worker has died.
func (p planner) resize() (rounds.State, bool) {
	s := p.stored.State
	next := p.begin(s.Round, p.entered())
	if s.Died() {
		next = next.WithDeath()
	}
	return next, s.Phase == rounds.Active && p.resized()
}

// entered returns how many units, counted from the start of the new layout, have workers that have run in this generation.
func (p planner) entered() int {
	ran := map[string]bool{}
	for _, b := range p.stored.Config.Stages {
		ran[b.Prefix] = b.Unit < p.stored.State.Entered
	}
	n := 0
	for _, b := range p.layout.bounds {
		if ran[b.Prefix] {
			n = max(n, b.Unit+1)
		}
	}
	return n
}

func (p planner) giveUp() (rounds.State, bool) {
	s := p.stored.State
	applies := p.want.GiveUp && s.Restarting()
	s.Phase = rounds.Recreate
	return s, applies
}

// complete ends a group when all needed units have finished. The needed units are those with ReleaseNeeded or ReleaseGate or, if
// no unit has ReleaseNeeded, all units.
func (p planner) complete() (rounds.State, bool) {
	s := p.stored.State
	if s.Phase != rounds.Active {
		return s, false
	}
	named := slices.ContainsFunc(p.layout.keys, func(k unitKey) bool { return k.release == coordination.ReleaseNeeded })
	for u, k := range p.layout.keys {
		needed := !named || k.release == coordination.ReleaseNeeded || k.release == coordination.ReleaseGate
		if needed && !s.Left.Has(u) && p.finished[u] < p.layout.units[u].Slots {
			return s, false
		}
	}
	s.Phase = rounds.Done
	return s, true
}

// leave removes finished units that will not run again, either because their workers are not held or because other units wait for
// them to end.
func (p planner) leave() (rounds.State, bool) {
	s := p.stored.State
	if s.Phase != rounds.Active {
		return s, false
	}
	var left []int
	for u, k := range p.layout.keys {
		whole := p.finished[u] >= p.layout.units[u].Slots
		goes := !p.want.Barrier || k.release == coordination.ReleaseGate || k.release == coordination.ReleaseFree
		if s.Left.Has(u) || whole && goes {
			left = append(left, u)
			p.config.Units[u].Slots = 0
		}
	}
	before := s.Left
	s.Left = rounds.UnitsOf(left...)
	s.Finished = s.Finished && p.cannotRunAgain(s.Left)
	return s, s.Left != before
}

// cannotRunAgain reports whether some finished workers are not held although their unit has not left. A failure then requires new Jobs.
func (p planner) cannotRunAgain(left rounds.Units) bool {
	for u, k := range p.layout.keys {
		if p.finished[u] > 0 && !left.Has(u) && (!p.want.Barrier || k.release == coordination.ReleaseFree) {
			return true
		}
	}
	return false
}

// know records finished workers while the group is waiting for joins, because they will not join again.
func (p planner) know() (rounds.State, bool) {
	s := p.stored.State
	if s.Phase != rounds.Active || s.Started == len(p.layout.units) {
		return s, false
	}
	for u, n := range p.finished {
		if !s.Left.Has(u) && n > p.stored.Finished[u] {
			return s, true
		}
	}
	return s, false
}

func (p planner) adjust() (rounds.State, bool) {
	have := p.stored.Config
	same := have.Limit == p.config.Limit && have.MaxPause == p.config.MaxPause && slices.Equal(have.Units, p.config.Units) &&
		slices.Equal(have.Fenced, p.config.Fenced) && have.Token == p.config.Token
	return p.stored.State, !same && !p.resized()
}
