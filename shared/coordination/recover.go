package coordination

// wentBack tells whether the agent knows a later state than the store: the store lost its last moments.
func (g *Group) wentBack(seen Seen) bool {
	if g.Phase == Recovering || seen.Epoch != g.Epoch {
		return false
	}
	unfinished := g.Phase == Forming || g.Phase == Restarting
	return seen.Round > g.Round || (unfinished && seen.Running && seen.Round == g.Round)
}

// known is the round that the agent knows its living instance to have.
func (g *Group) known(seen Seen) int64 {
	if seen.Holds && seen.Epoch == g.Epoch {
		return seen.Round
	}
	return NoRound
}

// recover starts to collect what the agents know. All of them join anew under the next generation.
func (g *Group) recover() {
	g.Generation++
	g.Joined, g.Dirty, g.DirtyCause = 0, false, Failure{}
	g.Recovery = Recovery{Highest: NoRound, Lowest: NoRound}
	g.Done = 0
	for _, s := range g.Slots {
		g.keepFinished(s)
	}
	g.to(Recovering)
}

// keepFinished carries a finished slot over: nobody is left in it to join again.
func (g *Group) keepFinished(s *Slot) {
	if s.Finished {
		s.Generation = g.Generation
		g.Joined++
		g.Done++
	}
}

// see adds what one agent knows to the picture. A slot that had a round and has none now lost its instance meanwhile.
func (g *Group) see(seen Seen, f Failure) {
	r, round := &g.Recovery, g.known(seen)
	slotKnown := seen.Epoch == g.Epoch && seen.Round >= 0
	if slotKnown {
		r.SawRunning = r.SawRunning || seen.Running
		r.Highest = max(r.Highest, seen.Round)
	}
	switch {
	case round == NoRound:
		r.Unassigned++
	case r.Lowest == NoRound || round < r.Lowest:
		r.Lowest = round
	}
	lost := slotKnown && round == NoRound
	second := slotKnown && seen.Instances > 1 && !seen.Running
	if lost || second {
		g.hurt(f)
	}
}

func (g *Group) hurt(f Failure) {
	if !g.Recovery.Hurt {
		g.Recovery.Hurt, g.Recovery.Cause = true, f
	}
}

// recovered decides once every slot has told what it knows.
//
//	somebody died, or a slot without a round among slots that were running: one more round, charged
//	nobody knows a round, or all know the same one:                         run on untouched
//	merely unequal:                                                         the highest round, charged before
func (g *Group) recovered(now int64) {
	r := g.Recovery
	g.Round = max(g.Round, r.Highest)
	g.Record = Record{Epoch: g.Epoch, Round: g.Round, Cause: Cause{Kind: KindRecovery}, ReportedAt: now}
	switch {
	case r.Hurt || (r.Unassigned > 0 && r.SawRunning):
		if r.Cause.Kind == "" {
			r.Cause.Kind = KindRecovery
		}
		g.openRound(r.Cause, now)
		g.assign()
	case r.Highest == NoRound || (r.Unassigned == 0 && r.Lowest == r.Highest):
		g.assign()
		g.running(now)
	default:
		g.to(Restarting)
		g.assign()
	}
	if g.Phase == Restarting {
		g.settle(now)
	}
}

// assign gives the slots that have no round the desired one, and counts who is in sync.
func (g *Group) assign() {
	g.Joined = 0
	for _, s := range g.Slots {
		if s.Generation == g.Generation && s.Round == NoRound && !s.Dead {
			s.Round = g.Round
		}
		if g.counted(s) {
			g.Joined++
		}
	}
}
