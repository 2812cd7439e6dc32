package coordination

// wentBack tells whether the agent knows a later state than the store: the store lost its last moments.
func (g *Group) wentBack(stage int, held *Slot, j Join) bool {
	seen := j.Seen
	switch {
	case seen.Epoch != g.Epoch:
		return false
	case g.hasJoined(held, j.Instance) && g.disagrees(stage, held, seen):
		return true
	case g.Phase == Recovering:
		return false
	}
	unfinished := g.Phase == Forming || g.Phase == Restarting
	stillRuns := unfinished && seen.Running && seen.Round == g.Round
	return seen.Round > g.Round || stillRuns || (seen.Entered && g.forming(stage))
}

// disagrees tells whether an agent knows its instance to be of another round than the store does: it was assigned that
// round in moments that the store has lost. Only a step that the agent has not seen enter makes a round higher.
func (g *Group) disagrees(stage int, held *Slot, seen Seen) bool {
	known := g.known(seen)
	if known == NoRound {
		return false
	}
	if g.Phase == Recovering {
		return held.Round != known
	}
	round := g.effective(stage, held)
	return known > round || (seen.Entered && known < round)
}

// remembered is what an agent knows. One that lost its file in the pod is told by the store, as long as that still has
// the instance's round from before it began to ask.
func (g *Group) remembered(held *Slot, j Join) Seen {
	same := held != nil && held.ID == j.ID && held.Pod == j.Pod && !held.Dead && held.Generation < g.Generation
	if g.Phase != Recovering || !same || held.Round == NoRound || j.Seen != Unseen() {
		return j.Seen
	}
	return Seen{Epoch: g.Epoch, Round: held.Round, Holds: true, Instances: 1}
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
	g.keepRounds()
	g.Generation++
	g.Dirty, g.DirtyCause = false, Failure{}
	g.Recovery = Recovery{Highest: NoRound, Lowest: NoRound, Ran: NoRound}
	for k, step := range g.Steps {
		g.Steps[k] = Step{Entered: NoRound, Known: step.Entered != NoRound || step.Known}
	}
	g.clearCounts()
	for name, s := range g.Slots {
		g.keepFinished(g.stage(name), s)
	}
	g.to(Recovering)
}

// keepRounds writes down the rounds that slots have only because their step entered later.
func (g *Group) keepRounds() {
	for name, s := range g.Slots {
		if s.Generation == g.Generation && s.Round != NoRound && g.stage(name) >= 0 {
			s.Round = g.effective(g.stage(name), s)
		}
	}
}

// keepFinished carries a finished slot over in which nobody is left to say so again.
func (g *Group) keepFinished(stage int, s *Slot) {
	if s.Finished && !g.Counts[stage].Left && !g.runsAgain(stage, s) {
		s.Generation = g.Generation
		g.count(stage, s)
	}
}

// see adds what one agent knows to the picture. A slot that had a round and has none now lost its instance meanwhile.
func (g *Group) see(stage int, j Join, f Failure) {
	r, seen, round := &g.Recovery, j.Seen, g.known(j.Seen)
	slotKnown := seen.Epoch == g.Epoch && seen.Round >= 0
	if slotKnown {
		r.know(seen)
		g.step(stage).Known = g.step(stage).Known || seen.Running || seen.Entered
	}
	switch {
	case round == NoRound:
		g.step(stage).miss(j.Barrier)
	case r.Lowest == NoRound || round < r.Lowest:
		r.Lowest = round
	}
	lost := slotKnown && round == NoRound
	second := slotKnown && seen.Instances > 1 && !seen.Running && !j.Barrier
	if lost || second {
		g.hurt(stage, j.Barrier, f)
	}
}

func (r *Recovery) know(seen Seen) {
	r.Highest = max(r.Highest, seen.Round)
	if seen.Running {
		r.Ran = max(r.Ran, seen.Round)
	}
}

// hurt notes a death. One at a barrier hurts nobody, unless its round was Running; its slot has none now.
func (g *Group) hurt(stage int, barrier bool, f Failure) {
	if g.Recovery.Cause.Kind == "" {
		g.Recovery.Cause = f
	}
	if barrier {
		g.step(stage).miss(true)
		return
	}
	g.Recovery.Hurt = true
}

// hurting tells whether somebody died, or a slot without a round is among slots that were running. At a barrier it waits
// for the highest round, so it is missed only if that was running.
func (g *Group) hurting() bool {
	r := g.Recovery
	for _, step := range g.Steps {
		missed := step.Unassigned > 0 && r.Ran != NoRound
		missedAtBarrier := step.AtBarrier > 0 && r.Ran == max(g.Round, r.Highest)
		if step.Known && (missed || missedAtBarrier) {
			return true
		}
	}
	return r.Hurt
}

// collected tells whether every slot has told what it knows: those of the steps that had entered; if none had, those of
// the first one.
func (g *Group) collected() bool {
	known := g.anyBegun()
	for k, step := range g.Steps {
		switch {
		case g.left(k) || (known && !step.Known):
		case !g.complete(k):
			return false
		case !known:
			return true
		}
	}
	return true
}

// recovered decides once every slot has told what it knows.
//
//	somebody died, or a slot without a round among slots that were running: one more round, charged
//	nobody knows a round, or all know the same one:                         run on untouched
//	merely unequal:                                                         the highest round, charged before
func (g *Group) recovered(now int64) {
	cause, hurting := g.Recovery.Cause, g.hurting()
	g.Round = max(g.Round, g.Recovery.Highest)
	g.Record = Record{Epoch: g.Epoch, Round: g.Round, Cause: Cause{Kind: KindRecovery}, ReportedAt: now}
	equal, finishedAt := g.equal(), g.Round
	g.enterKnown()
	g.enterSteps()
	switch {
	case hurting:
		if cause.Kind == "" {
			cause.Kind = KindRecovery
		}
		g.openRound(cause, now)
		g.assign(finishedAt)
	case equal:
		g.assign(finishedAt)
		g.running(now)
	default:
		g.to(Restarting)
		g.assign(finishedAt)
	}
	if g.Phase == Restarting {
		g.settle(now)
	}
}

// equal tells whether all slots know the desired round, or none knows any.
func (g *Group) equal() bool {
	r := g.Recovery
	for _, step := range g.Steps {
		if step.Unassigned+step.AtBarrier > 0 && r.Highest != NoRound {
			return false
		}
	}
	return r.Highest == NoRound || r.Lowest == g.Round
}

// enterKnown lets the steps in that had entered before. Their slots know their rounds, so the step must not lift them.
func (g *Group) enterKnown() {
	for k := range g.Steps {
		if step := &g.Steps[k]; step.Known {
			step.Entered, step.Known = 0, false
		}
	}
}

// assign gives the slots that have no round the desired one, those that have finished the one it was meanwhile, and
// counts all anew.
func (g *Group) assign(finishedAt int64) {
	for _, s := range g.Slots {
		switch {
		case s.Generation != g.Generation || s.Round != NoRound:
		case s.Finished:
			s.Round = finishedAt
		case !s.Dead:
			s.Round = g.Round
		}
	}
	g.recount()
}

// recount counts the slots of the stages that have not left.
func (g *Group) recount() {
	g.clearCounts()
	for name, s := range g.Slots {
		if i := g.stage(name); !g.Counts[i].Left {
			g.count(i, s)
		}
	}
}

func (g *Group) clearCounts() {
	for i, c := range g.Counts {
		if !c.Left {
			g.Counts[i] = Count{}
		}
	}
}
