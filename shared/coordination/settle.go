package coordination

// settle moves on as far as the slots allow.
func (g *Group) settle(now int64) {
	switch g.Phase {
	case Recovering:
		g.leaveStages()
		g.endRecovery(now)
	case Forming, Running, Restarting:
		g.leaveStages()
		g.enterSteps()
		g.moveOn(now)
	}
	if g.Level.Steps != g.tokens() {
		g.to(g.Phase)
	}
}

func (g *Group) moveOn(now int64) {
	switch {
	case g.succeeded():
		g.finish()
	case !g.inSync():
	case g.Dirty:
		g.overtaken()
		g.openRound(g.DirtyCause, now)
	case g.Phase != Running:
		g.running(now)
	}
}

// finish ends the group's work: whoever fails from now on is not needed.
func (g *Group) finish() {
	unfinished := g.Phase == Forming || g.Phase == Restarting
	g.to(Completed)
	if unfinished {
		g.remember()
	}
}

func (g *Group) endRecovery(now int64) {
	switch {
	case g.succeeded():
		g.finish()
	case g.collected():
		g.recovered(now)
	}
}
