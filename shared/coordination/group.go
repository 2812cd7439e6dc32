package coordination

import "slices"

// Group is the state of one group and the rules that change it. It is pure: time is an argument, what has to be
// broadcast is told by Seq, and nothing is kept elsewhere. A Group is not safe for concurrent use.
type Group struct {
	Level
	Token  Token
	Limit  int64
	Stages []Stage
	Steps  []Step  // by Stage.Step
	Counts []Count // one for each stage

	Slots  map[string]*Slot
	Fenced map[string]bool // pod UIDs that may not act any more
	// Rejected is how many reports of such pods were refused.
	Rejected int64

	Dirty      bool    // an instance of the round in progress died without a barrier: its peers may hang, so one more round follows
	DirtyCause Failure // the first such death
	Recovery   Recovery
	Record     Record
	History    []Record
}

// Slot is what the group knows of one slot's newest instance.
type Slot struct {
	Pod     string
	PodBorn int64
	Place
	Instance
	Round      int64 // it was given, see Group.effective; NoRound while recovering, if the agent knew none
	Generation int64 // the generation it joined in
	Dead       bool
	Finished   bool // dead because it finished by itself: counts as joined
	Barrier    bool // it waits for Level.Lifted; once finished it can run again
	Ran        bool // it waited there, and has told when its user code began to run
}

// Recovery is what the joins of a recovering group add up to.
type Recovery struct {
	Highest, Lowest int64   // rounds seen, NoRound before the first
	Ran             int64   // the highest round that somebody saw Running, or NoRound
	Hurt            bool    // somebody died meanwhile without a barrier
	Cause           Failure // the first death
}

// Size is the number of slots that have to be in sync, Joined how many are, Done how many slots have finished.
func (g *Group) Size() int64 {
	return g.sum(func(i int) int64 { return g.Stages[i].Slots() })
}

// Joined is described with Size.
func (g *Group) Joined() int64 {
	return g.sum(func(i int) int64 { return g.Counts[i].Joined })
}

// Done is described with Size.
func (g *Group) Done() int64 {
	var n int64
	for _, c := range g.Counts {
		n += c.Done
	}
	return n
}

func (g *Group) sum(of func(stage int) int64) int64 {
	var n int64
	for i := range g.Stages {
		if g.expected(i) {
			n += of(i)
		}
	}
	return n
}

// Summary is the state without the slots.
func (g *Group) Summary() Summary {
	return Summary{
		Level: g.Level, Token: g.Token, Size: g.Size(), Joined: g.Joined(), Done: g.Done(), Limit: g.Limit,
		Dirty: g.mustRepeat(), Stages: g.Stages, Counts: slices.Clone(g.Counts), Record: g.Record,
	}
}

// mustRepeat tells whether a death is known that one more round will answer.
func (g *Group) mustRepeat() bool {
	if g.Phase == Recovering {
		return g.hurting()
	}
	for _, s := range g.Steps {
		if s.Dirty.Kind != "" {
			return true
		}
	}
	return g.Dirty
}

// effective is the round of a slot's instance: the one it was given, or the one its step entered at, so that a step enters
// without a look at its slots.
func (g *Group) effective(stage int, s *Slot) int64 { return max(s.Round, g.step(stage).Entered) }

// current tells whether a slot's instance belongs to the desired round of this life of the group. While a step forms its
// instances belong to whatever round it will enter at.
func (g *Group) current(stage int, s *Slot) bool {
	if s == nil || s.Generation != g.Generation {
		return false
	}
	return g.Phase == Recovering || g.forming(stage) || g.effective(stage, s) == g.Round
}

// counted tells whether the slot is one of its stage's Joined. A finished worker keeps its place, until a round opens that
// it can take part in.
func (g *Group) counted(stage int, s *Slot) bool {
	switch {
	case s == nil || s.Generation != g.Generation || (s.Dead && !s.Finished):
		return false
	case s.Finished && !g.runsAgain(stage, s):
		return true
	}
	return g.current(stage, s)
}

// runsAgain tells whether somebody holds the worker, so that it can run once more after it has finished.
func (g *Group) runsAgain(stage int, s *Slot) bool {
	return s.Barrier && g.Stages[stage].Release != ReleaseFree
}

// count takes a slot into its stage's counts; uncount takes it out.
func (g *Group) count(stage int, s *Slot) { g.add(stage, s, 1) }

func (g *Group) uncount(stage int, s *Slot) { g.add(stage, s, -1) }

func (g *Group) add(stage int, s *Slot, n int64) {
	if !g.counted(stage, s) {
		return
	}
	c := &g.Counts[stage]
	c.Joined += n
	if s.Finished {
		c.Done += n
		if !g.runsAgain(stage, s) {
			c.Gone += n
		}
	}
}

// leaving tells whether the pods of this epoch are about to go. What comes in then changes nothing: a pod of the next
// epoch that is early must not take a slot of this one, because it would be fenced with it.
func (g *Group) leaving() bool {
	return g.Phase == Closed || g.Phase == Recreating || g.Phase == Completed
}

func (g *Group) to(p Phase) {
	g.Phase, g.Level.Steps = p, g.tokens()
	g.Seq++
}

// running ends a formation or a restart.
func (g *Group) running(now int64) {
	g.Record.InSyncAt = now
	g.to(Running)
	g.remember()
}

func (g *Group) remember() {
	g.History = append(g.History, g.Record)
	if extra := len(g.History) - HistoryLength; extra > 0 {
		g.History = g.History[extra:]
	}
}

// overtaken keeps the record of a restart, or of a formation, that another restart follows before it has ended.
func (g *Group) overtaken() {
	if g.Phase != Running {
		g.remember()
	}
}

// openRound answers a failure: the next round, or the end of what can be done in place.
func (g *Group) openRound(f Failure, now int64) {
	g.Dirty, g.DirtyCause = false, Failure{}
	g.Record = Record{
		Epoch: g.Epoch, Round: g.Round + 1, Cause: f.Cause,
		FailedAt: f.FailedAt, DetectedAt: f.DetectedAt, ReportedAt: now,
	}
	switch {
	case g.Round+1 > g.Limit:
		g.giveUp(Terminal)
	case g.stuck():
		g.Record.Cause.Kind = KindFinished
		g.giveUp(Recreating)
	default:
		g.Round++
		g.nextRound()
		g.to(Restarting)
	}
}

func (g *Group) giveUp(p Phase) {
	g.to(p)
	g.remember()
}

// soil notes the death of an instance of the round in progress. One that waited at a barrier was missed by nobody.
func (g *Group) soil(stage int, s *Slot, f Failure) {
	switch {
	case g.Phase == Recovering:
		g.hurt(stage, s.Barrier, f)
		return
	case g.Phase != Running && g.Phase != Forming && g.Phase != Restarting:
		return
	case g.Phase == Forming || !g.forming(stage):
		g.Record.Coalesced++
	}
	switch step := g.step(stage); {
	case s.Barrier:
	case !g.forming(stage):
		g.soilAll(f)
	case step.Dirty.Kind == "":
		step.Dirty = f
	}
}

// soilAll makes one more round follow.
func (g *Group) soilAll(f Failure) {
	if !g.Dirty {
		g.Dirty, g.DirtyCause = true, f
	}
}
