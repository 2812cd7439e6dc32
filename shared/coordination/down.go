package coordination

// Down reports the death of an instance. A death of the desired round in Running opens the next round; one behind the
// desired round was to be expected. A death that nobody had seen alive counts as a join and a death. At a barrier nothing comes
// between the two: it never ran, so no round begins with it.
//
// Errors: as for Join.
func (g *Group) Down(d Down, now int64) (Reply, error) {
	if err := d.check(now); err != nil {
		return Reply{}, err
	}
	held, newPod, err := g.admit(d.Member, d.Instance, d.Seen, now)
	if err != nil {
		return Reply{}, err
	}
	stage := g.stage(d.Slot)
	if g.leaving() || g.Counts[stage].Left {
		return g.reply(d.Slot, d.ID), nil
	}
	if !newPod && g.isStale(held, d.Instance) {
		return g.unheard(d.Slot, d.ID), nil
	}
	if newPod || !g.hasJoined(held, d.Instance) {
		g.enter(stage, Join{Member: d.Member, Instance: d.Instance, Barrier: d.Barrier, Seen: d.Seen}, held, newPod, now)
		if held = g.Slots[d.Slot]; !d.Barrier {
			g.settle(now)
		}
	}
	g.die(stage, held, d, now)
	g.settle(now)
	return g.reply(d.Slot, d.ID), nil
}

func (g *Group) die(stage int, s *Slot, d Down, now int64) {
	if g.counted(stage, s) && d.ExitCode == 0 && !d.Ordered {
		g.uncount(stage, s)
		s.Dead, s.Finished = true, true
		g.count(stage, s)
		return
	}
	g.bury(stage, s, d.failure(), d.Ordered, now)
}

func (d Down) failure() Failure {
	c := Cause{Slot: d.Slot, Kind: d.Kind, ExitCode: d.ExitCode, Place: d.Place, Signal: d.Signal, Reason: d.Reason}
	if c.Kind == "" {
		c.Kind = KindExit
	}
	return Failure{c, d.FailedAt, d.DetectedAt}
}

// bury takes a dead instance out of the counts and answers its death, by phase.
func (g *Group) bury(stage int, s *Slot, f Failure, ordered bool, now int64) {
	counted := g.counted(stage, s)
	g.uncount(stage, s)
	s.Dead = true
	switch {
	case g.Phase == Running && !g.forming(stage):
		g.openRound(f, now)
		g.countDown(stage, now)
	case g.Phase == Restarting && g.effective(stage, s) < g.Round && !g.forming(stage):
		g.countDown(stage, now)
		if !ordered {
			g.Record.Coalesced++
		}
	case counted:
		g.soil(stage, s, f)
	}
}
