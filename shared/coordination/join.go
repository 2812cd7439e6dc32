package coordination

// Join reports a living instance. In Running a new instance means that the old one died, and opens the next round; in
// Forming and Restarting it joins the round in progress. Repeated and late joins change nothing.
//
// Errors: ErrUnknownSlot, ErrFenced, ErrNoGroup (the group's data are older than the agent's), ErrForeignValue.
func (g *Group) Join(j Join, now int64) (Reply, error) {
	held, newPod, err := g.admit(j.Member, j.Instance, j.Seen)
	if err != nil {
		return Reply{}, err
	}
	if g.leaving() || (!newPod && isStale(held, j.Instance)) {
		return g.reply(j.Slot), nil
	}
	if g.wentBack(j.Seen) {
		g.recover()
	}
	if !newPod && g.hasJoined(held, j.Instance) {
		return g.reply(j.Slot), nil
	}
	if newPod {
		g.Fenced[held.Pod] = true
	}
	g.take(j, held, newPod, now)
	g.settle(now)
	return g.reply(j.Slot), nil
}

// isStale tells whether an instance is behind the slot's: older, or known to be dead.
func isStale(held *Slot, i Instance) bool {
	if held == nil {
		return false
	}
	return (held.ID == i.ID && held.Dead) || (held.ID != i.ID && i.Born < held.Born)
}

// hasJoined tells whether a join is a repetition.
func (g *Group) hasJoined(held *Slot, i Instance) bool {
	return held != nil && held.ID == i.ID && held.Generation == g.Generation
}

// take puts a new instance into its slot, by phase.
func (g *Group) take(j Join, held *Slot, newPod bool, now int64) {
	next := &Slot{Pod: j.Pod, PodBorn: j.PodBorn, Instance: j.Instance, Generation: g.Generation}
	f := replacedBy(j.Slot, newPod)
	wasCurrent := g.current(held)
	wasLive := held != nil && !held.Dead
	g.vacate(held)
	switch g.Phase {
	case Running:
		g.openRound(f, now)
	case Recovering:
		if wasCurrent {
			g.hurt(f)
		}
		g.see(j.Seen, f)
	case Forming, Restarting:
		if wasCurrent && wasLive {
			g.soil(f)
		}
	}
	if wasLive && held.Round < g.Round {
		g.countDown(now)
	}
	next.Round = g.roundOf(j.Seen)
	g.Slots[j.Slot] = next
	g.countUp(now)
}

// roundOf is the round a joining instance belongs to.
func (g *Group) roundOf(seen Seen) int64 {
	if g.Phase != Recovering {
		return g.Round
	}
	return g.known(seen)
}

// vacate takes a slot's former instance out of the counts; a new pod in a finished slot is finished no more.
func (g *Group) vacate(held *Slot) {
	if held == nil {
		return
	}
	if g.counted(held) {
		g.Joined--
	}
	if held.Finished {
		held.Finished = false
		g.Done--
	}
}

// countUp accounts for a new instance of the desired round.
func (g *Group) countUp(now int64) {
	g.Joined++
	if g.Phase == Forming || g.Phase == Restarting {
		g.Record.Ups++
		g.Record.LastUpAt = now
	}
}

// countDown accounts for the end of an instance of the old round.
func (g *Group) countDown(now int64) {
	if g.Phase == Restarting {
		g.Record.Downs++
		g.Record.LastDownAt = now
	}
}

func replacedBy(slot string, newPod bool) Failure {
	kind := KindReplaced
	if newPod {
		kind = KindPod
	}
	return Failure{Cause: Cause{Slot: slot, Kind: kind}}
}
