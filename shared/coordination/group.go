package coordination

// Group is the state of one group and the rules that change it. It is pure: time is an argument, what has to be
// broadcast is told by Seq, and nothing is kept elsewhere. A Group is not safe for concurrent use.
type Group struct {
	Level
	Token  Token
	Limit  int64
	Stages []Stage

	Slots  map[string]*Slot
	Fenced map[string]bool // pod UIDs that may not act any more
	Joined int64           // slots in sync with the desired round, finished ones included
	Done   int64           // slots whose worker finished by itself

	Dirty      bool    // an instance of the forming or restarting round died: its peers may hang, so one more round follows
	DirtyCause Failure // the first such death
	Recovery   Recovery
	Record     Record
	History    []Record
}

// Slot is what the group knows of one slot's newest instance.
type Slot struct {
	Pod     string
	PodBorn int64
	Instance
	Round      int64 // NoRound while recovering, if the agent knew none
	Generation int64 // the generation it joined in
	Dead       bool
	Finished   bool // dead because it finished by itself: counts as joined
}

// Recovery is what the joins of a recovering group add up to.
type Recovery struct {
	Highest, Lowest int64 // rounds seen, NoRound before the first
	Unassigned      int64 // slots without a round
	SawRunning      bool
	Hurt            bool // somebody died meanwhile
	Cause           Failure
}

// Size is the number of slots.
func (g *Group) Size() int64 {
	var n int64
	for _, s := range g.Stages {
		n += s.Slots()
	}
	return n
}

// Summary is the state without the slots.
func (g *Group) Summary() Summary {
	return Summary{
		Level: g.Level, Token: g.Token, Size: g.Size(), Joined: g.Joined, Done: g.Done, Limit: g.Limit,
		Dirty: g.Dirty || (g.Phase == Recovering && g.Recovery.Hurt), Stages: g.Stages, Record: g.Record,
	}
}

func (g *Group) has(slot string) bool {
	for _, s := range g.Stages {
		if s.Has(slot) {
			return true
		}
	}
	return false
}

// current tells whether a slot's instance belongs to the desired round of this life of the group.
func (g *Group) current(s *Slot) bool {
	return s != nil && s.Generation == g.Generation && (g.Phase == Recovering || s.Round == g.Round)
}

// counted tells whether the slot is one of the g.Joined. A finished worker keeps its place.
func (g *Group) counted(s *Slot) bool {
	if s == nil || s.Generation != g.Generation {
		return false
	}
	return s.Finished || (!s.Dead && g.current(s))
}

// leaving tells whether the pods of this epoch are about to go. What comes in then changes nothing: a pod of the next
// epoch that is early must not take a slot of this one, because it would be fenced with it.
func (g *Group) leaving() bool { return g.Phase == Closed || g.Phase == Recreating }

func (g *Group) to(p Phase) {
	g.Phase = p
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
	case g.Done > 0:
		g.Record.Cause.Kind = KindFinished
		g.giveUp(Recreating)
	default:
		g.Round++
		g.Joined = 0
		g.to(Restarting)
	}
}

func (g *Group) giveUp(p Phase) {
	g.to(p)
	g.remember()
}

// settle moves on once every slot has joined.
func (g *Group) settle(now int64) {
	if g.Joined < g.Size() {
		return
	}
	switch {
	case g.Phase == Recovering:
		g.recovered(now)
	case g.Phase != Forming && g.Phase != Restarting:
	case g.Dirty:
		g.openRound(g.DirtyCause, now)
	default:
		g.running(now)
	}
}

// soil notes that an instance of the round in progress died.
func (g *Group) soil(f Failure) {
	switch g.Phase {
	case Recovering:
		g.hurt(f)
	case Forming, Restarting:
		g.Record.Coalesced++
		if !g.Dirty {
			g.Dirty, g.DirtyCause = true, f
		}
	}
}
