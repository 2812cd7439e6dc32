package coordination

import (
	"fmt"
	"slices"
)

// NewGroup creates the state of a group that the store does not hold.
func NewGroup(o Open, now int64) (*Group, error) {
	g := &Group{
		Level: Level{Incarnation: o.Incarnation, Epoch: o.Epoch}, Token: o.Token, Limit: o.Limit, Stages: o.Stages,
		Slots: map[string]*Slot{}, Fenced: map[string]bool{},
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Incarnation == "" {
		return nil, fmt.Errorf("%w: opening a group: no incarnation", ErrArgument)
	}
	g.reset()
	g.begin(o, now)
	g.addFinished(o.Done)
	g.settle(now)
	return g, nil
}

// Open makes the group what the leader wants: a later epoch starts anew with all counts 0 and fences every pod of the
// epochs before; within the epoch it suspends, resumes, and follows a changed size or budget.
//
// Errors: ErrStaleLeader, ErrStaleEpoch, or what is wrong with o.
func (g *Group) Open(o Open, now int64) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := g.lead(o.Token); err != nil {
		return err
	}
	if o.Epoch < g.Epoch {
		return fmt.Errorf("%w: %d, not %d", ErrStaleEpoch, g.Epoch, o.Epoch)
	}
	resized := !slices.Equal(g.Stages, o.Stages)
	next := o.Epoch > g.Epoch
	before := g.Stages
	g.Token, g.Limit, g.Stages = o.Token, o.Limit, o.Stages
	if resized {
		g.carryOver(before)
	}
	switch {
	case next:
		g.empty()
		g.Epoch, g.Round = o.Epoch, 0
		g.begin(Open{Epoch: o.Epoch, Suspended: o.Suspended}, now)
	case o.Suspended && g.Phase != Closed:
		g.to(Closed)
	case o.Suspended:
	case g.Phase == Closed && len(g.Slots) == 0:
		g.begin(Open{Epoch: o.Epoch}, now)
	case g.Phase == Closed:
		g.recover() // closed and opened within an epoch: its pods may never have been stopped
	case resized && g.Phase != Recreating && g.Phase != Terminal && g.Phase != Completed: // a failure is answered at any size
		g.recover()
	}
	g.addFinished(o.Done)
	g.settle(now)
	return nil
}

// begin enters the first phase of an epoch.
func (g *Group) begin(o Open, now int64) {
	g.Record = Record{Epoch: g.Epoch, Round: g.Round, ReportedAt: now}
	switch {
	case o.Suspended:
		g.to(Closed)
	case o.Recover:
		g.recover()
	default:
		g.to(Forming)
	}
}

// addFinished counts slots whose worker is known to have finished, while their step forms or the group collects what is
// known: nobody is left in them to join. A living instance in such a slot knows better.
func (g *Group) addFinished(slots []string) {
	for _, name := range slots {
		s, i := g.Slots[name], g.stage(name)
		if i < 0 || g.Counts[i].Left || !g.waits(i) || g.knowsBetter(i, s) {
			continue
		}
		if s == nil {
			s = &Slot{Round: NoRound}
			g.Slots[name] = s
		}
		s.Dead, s.Finished, s.Barrier, s.Generation = true, true, false, g.Generation
		g.count(i, s)
	}
	g.leaveWhole(slots)
}

// knowsBetter tells whether a slot has a living instance in this life of the group, or counts already.
func (g *Group) knowsBetter(stage int, s *Slot) bool {
	return s != nil && s.Generation == g.Generation && (!s.Dead || g.counted(stage, s))
}

// leaveWhole lets the stages go of which every slot is known to have finished, whatever the store has heard: their Jobs
// are complete, and nobody is left to say it.
func (g *Group) leaveWhole(slots []string) {
	if g.leaving() || g.Phase == Terminal {
		return
	}
	finished := make([]int64, len(g.Stages))
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slots))) {
		if i := g.stage(name); i >= 0 {
			finished[i]++
		}
	}
	for i, s := range g.Stages {
		if n := s.Slots(); n > 0 && finished[i] == n && !g.Counts[i].Left {
			g.Counts[i] = Count{Joined: n, Done: n, Gone: n, Left: true}
		}
	}
}

// waits tells whether a stage's slots are still to join for the first time.
func (g *Group) waits(stage int) bool {
	return g.Phase == Recovering || (g.forming(stage) && !g.leaving() && g.Phase != Terminal)
}

// empty fences whoever holds a slot.
func (g *Group) empty() {
	for _, s := range g.Slots {
		if s.Pod != "" {
			g.Fenced[s.Pod] = true
		}
	}
	g.Slots = map[string]*Slot{}
	g.Dirty, g.DirtyCause = false, Failure{}
	g.reset()
}

// carryOver forgets the slots that are no more, and keeps of the others' stages and steps what stays true.
func (g *Group) carryOver(before []Stage) {
	for name := range g.Slots {
		if g.stage(name) < 0 {
			delete(g.Slots, name)
		}
	}
	counts, steps := g.Counts, g.Steps
	g.reset()
	copy(g.Steps, steps)
	for i, s := range g.Stages {
		if at := slices.Index(before, s); at >= 0 && counts[at].Left {
			g.Counts[i] = counts[at]
		}
	}
	g.recount()
}

func (g *Group) lead(t Token) error {
	if err := t.check(); err != nil {
		return err
	}
	if t.Less(g.Token) {
		return fmt.Errorf("%w: its token is %v, ours %v", ErrStaleLeader, g.Token, t)
	}
	return nil
}

// Recreate gives up the round if the group is still restarting it, or still recovering. It returns ErrStaleLeader; a group that has moved on
// is left alone.
func (g *Group) Recreate(t Token, epoch, round int64, kind string) error {
	if err := g.lead(t); err != nil {
		return err
	}
	if !isName(kind) {
		return fmt.Errorf("recreating a group: kind %.80q is no name", kind)
	}
	g.Token = t
	stuck := g.Phase == Restarting || g.Phase == Recovering
	if stuck && g.Epoch == epoch && g.Round == round {
		g.Record.Cause.Kind = kind
		g.giveUp(Recreating)
	}
	return nil
}

// Ask requests the recreation of the group for a reason that no restart in place can mend. Only a pod that holds its
// slot may ask. Errors: as for Join.
func (g *Group) Ask(m Member, kind string, now int64) (Reply, error) {
	if !isKind(kind) {
		return Reply{}, badArgument(m.Slot, kind)
	}
	held, newPod, err := g.admit(m, Instance{}, Unseen(), now)
	if err != nil {
		return Reply{}, err
	}
	if held == nil || newPod {
		return g.reply(m.Slot, idOf(held)), nil
	}
	if g.Phase == Running || g.Phase == Restarting {
		g.Record.Cause = Cause{Slot: m.Slot, Kind: kind, Place: held.Place}
		g.giveUp(Recreating)
	}
	return g.reply(m.Slot, idOf(held)), nil
}

func (t Token) check() error {
	if !isCount(t.LeaseCreated) || !isCount(t.Transitions) {
		return fmt.Errorf("leading a group: token %v is not a pair of counts", t)
	}
	return nil
}

func (o Open) check() error {
	if err := o.Token.check(); err != nil {
		return err
	}
	if !isWord(o.Incarnation) {
		return fmt.Errorf("%w: opening a group: incarnation %.80q is no name", ErrArgument, o.Incarnation)
	}
	if o.Epoch < 1 || !isCount(o.Epoch) || !isCount(o.Limit) {
		return fmt.Errorf("%w: opening a group: epoch %d and limit %d must be counts, the epoch from 1", ErrArgument, o.Epoch, o.Limit)
	}
	return checkStages(o.Stages)
}

func checkStages(stages []Stage) error {
	var slots int64
	length := 0
	for _, s := range stages {
		if err := s.check(); err != nil {
			return err
		}
		slots += s.Slots()
		length += len(s.String()) + 1
	}
	if slots < 1 || slots > maxSlots || len(stages) > maxStages || length > maxList+1 {
		return fmt.Errorf("%w: opening a group: %d slots in %d stages", ErrArgument, slots, len(stages))
	}
	return nil
}
