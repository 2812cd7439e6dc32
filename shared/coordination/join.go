package coordination

import "fmt"

// Join reports a living instance. In Running a new instance means that the old one died, and opens the next round; in
// Forming and Restarting it joins the round in progress. Repeated and late joins change nothing.
//
// Errors: ErrUnknownSlot, ErrFenced, ErrNoGroup (the group's data are older than the agent's), ErrForeignValue.
func (g *Group) Join(j Join, now int64) (Reply, error) {
	if !isCount(j.RunsFor) || !isCount(j.GoneFor) || max(j.RunsFor, j.GoneFor) > now { // longer than there is time
		return Reply{}, badArgument(j.Slot, fmt.Sprint(j.RunsFor, j.GoneFor))
	}
	held, newPod, err := g.admit(j.Member, j.Instance, j.Seen, now)
	if err != nil {
		return Reply{}, err
	}
	stage := g.stage(j.Slot)
	if g.leaving() || g.Counts[stage].Left {
		return g.reply(j.Slot, j.ID), nil
	}
	if !newPod && g.isStale(held, j.Instance) {
		return g.unheard(j.Slot, j.ID), nil
	}
	if !g.enter(stage, j, held, newPod, now) {
		g.began(stage, held, j.RunsFor, now)
		return g.reply(j.Slot, j.ID), nil
	}
	g.settle(now)
	return g.reply(j.Slot, j.ID), nil
}

// enter lets an instance into its slot; false if it is there already.
func (g *Group) enter(stage int, j Join, held *Slot, newPod bool, now int64) bool {
	if g.wentBack(stage, held, j) {
		g.recover()
	}
	if !newPod && g.hasJoined(held, j.Instance) {
		return false
	}
	if newPod {
		g.Fenced[held.Pod] = true
	}
	g.take(stage, j, held, newPod, now)
	return true
}

// isStale tells whether an instance is behind the slot's: older, or known to be dead. A finished worker that is held may
// say so again in the next life of the group.
func (g *Group) isStale(held *Slot, i Instance) bool {
	switch {
	case held == nil:
		return false
	case held.ID == i.ID:
		return held.Dead && !(held.Finished && held.Generation < g.Generation)
	}
	return i.Born < held.Born
}

// hasJoined tells whether a join is a repetition.
func (g *Group) hasJoined(held *Slot, i Instance) bool {
	return held != nil && held.ID == i.ID && held.Generation == g.Generation
}

// take puts a new instance into its slot, by phase.
func (g *Group) take(stage int, j Join, held *Slot, newPod bool, now int64) {
	j.Seen = g.remembered(held, j)
	next := &Slot{
		Pod: j.Pod, PodBorn: j.PodBorn, Place: j.Place, Instance: j.Instance, Generation: g.Generation, Barrier: j.Barrier,
	}
	f := replacedBy(j.Slot, held, newPod)
	wasCurrent := g.current(stage, held)
	wasLive := held != nil && !held.Dead
	g.vacate(stage, held)
	switch {
	case g.Phase == Recovering:
		if wasCurrent {
			g.hurt(stage, held.Barrier, f)
		}
		g.see(stage, j, f)
	case g.Phase == Running && !g.forming(stage):
		g.openRound(f, now)
	case wasCurrent && wasLive:
		g.soil(stage, held, f)
	}
	if wasLive && g.effective(stage, held) < g.Round {
		g.countDown(stage, max(g.Record.LastDownAt, now-j.GoneFor))
	}
	next.Round = g.roundOf(j.Seen)
	g.Slots[j.Slot] = next
	g.countUp(stage, next, now)
}

// roundOf is the round a joining instance belongs to.
func (g *Group) roundOf(seen Seen) int64 {
	if g.Phase != Recovering {
		return g.Round
	}
	return g.known(seen)
}

// vacate takes a slot's former instance out of the counts; a new one in a finished slot is finished no more.
func (g *Group) vacate(stage int, held *Slot) {
	if held != nil {
		g.uncount(stage, held)
	}
}

// countUp accounts for a new instance of the desired round.
func (g *Group) countUp(stage int, s *Slot, now int64) {
	g.count(stage, s)
	if g.Phase == Forming || (g.Phase == Restarting && !g.forming(stage)) {
		if g.Record.Ups++; g.Record.Ups == 1 {
			g.Record.FirstUpAt = now
		}
		g.Record.LastUpAt = now
		if !s.Barrier {
			g.Record.Starts++
			g.Record.LastStartAt = now
		}
	}
}

// began notes when an instance that waited at the barrier began to run, in the record of the restart that it waited in.
func (g *Group) began(stage int, s *Slot, runsFor, now int64) {
	r := &g.Record
	restarted := r.InSyncAt > 0 && r.Epoch == g.Epoch && r.Round == g.Round && r.Starts < r.Ups
	waited := s.Barrier && !s.Ran && !s.Dead && !g.forming(stage) && g.current(stage, s)
	if runsFor == 0 || g.Phase != Running || !waited || !restarted {
		return
	}
	s.Ran = true
	r.Starts++
	r.LastStartAt = max(r.LastStartAt, r.InSyncAt, now-runsFor)
	if n := len(g.History); n > 0 {
		g.History[n-1] = *r
	}
}

// countDown accounts for the end of an instance of the old round.
func (g *Group) countDown(stage int, at int64) {
	if g.Phase == Restarting && !g.forming(stage) {
		g.Record.Downs++
		g.Record.LastDownAt = at
	}
}

func replacedBy(slot string, held *Slot, newPod bool) Failure {
	c := Cause{Slot: slot, Kind: KindReplaced}
	if newPod {
		c.Kind = KindPod
	}
	if held != nil {
		c.Place = held.Place
	}
	return Failure{Cause: c}
}
