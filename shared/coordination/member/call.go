package member

import "github.com/holdfast-project/holdfast/shared/coordination"

// call is a store call, planned or in flight.
type call struct {
	action Action
	id     string             // the instance it is about, or what was asked
	level  coordination.Level // the newest known when it was made
}

// callNext makes the next call if none is in flight and none has to wait.
func (s *State) callNext() {
	if s.call != nil || s.memory.PodBorn == 0 {
		return
	}
	c := s.nextCall()
	switch {
	case c == nil:
		s.troubles[viaCall] = "" // nothing is left that it keeps waiting
	case s.now.Before(s.retry.at):
		s.wakeAt(s.retry.at)
	default:
		s.call = c
		s.call.level = s.level
		s.do(c.action)
	}
}

// nextCall is the most urgent call. Instances go in the order of their births, so that a death is reported before the
// next one joins.
func (s *State) nextCall() *call {
	if s.released || s.early() {
		return nil
	}
	for _, l := range s.lives {
		if s.mustReport(l) {
			return &call{action: s.down(l), id: l.ID}
		}
		if s.mustJoin(l) {
			return &call{action: s.join(l), id: l.ID}
		}
	}
	return s.nextAsk()
}

// early tells whether the pod is of an epoch that the group has not come to, as far as is known: nobody leads, and the JobSet was
// suspended and resumed. Whoever joins the epoch before is left behind with it, for good.
func (s *State) early() bool { return s.level.Epoch < s.config.Epoch }

// mustJoin tells whether an instance has to join: never before, not in this life of the group, or without having been
// given a round, unless it needs none. Where that does not help it waits, so that no answer can make a hot loop.
func (s *State) mustJoin(l *life) bool {
	if l.exited || !l.present {
		return false
	}
	waiting := waitsForLeader(s.level.Phase) || s.level.Phase == coordination.Recovering
	settled := l.under.SameLife(s.level) && (l.round != coordination.NoRound || waiting || l.released)
	if l.under.Phase != "" && settled {
		return s.tellsStart(l)
	}
	return s.mayRepeat(l)
}

// mustReport tells whether a death is to be reported: once, and that of a finished worker that is held once in each life
// of the group, for the store may have to hear it again.
func (s *State) mustReport(l *life) bool {
	switch {
	case !l.exited:
		return false
	case !l.reported:
		return !s.toldByNext(l)
	case l.under.SameLife(s.level):
		return false
	}
	return s.mayRepeat(l)
}

// mayRepeat tells whether a report would be answered with anything new.
func (s *State) mayRepeat(l *life) bool {
	if l.asOf == s.level && s.now.Before(l.again) {
		s.wakeAt(l.again)
		return false
	}
	return true
}

// waitsForLeader: in these phases reports change nothing.
func waitsForLeader(p coordination.Phase) bool {
	return p == coordination.Closed || p == coordination.Recreating || p == coordination.Completed
}

func (s *State) join(l *life) Join {
	return Join{coordination.Join{
		Member: s.member(), Instance: l.Instance, Barrier: s.config.Barrier, Seen: s.memory.seen(l.ID), RunsFor: s.runsFor(l),
		GoneFor: s.goneFor(),
	}}
}

func (s *State) down(l *life) Down {
	return Down{coordination.Down{
		Member: s.member(), Instance: l.Instance, Barrier: s.config.Barrier, ExitCode: l.code, Ordered: l.ordered(),
		FailedAt: l.failedAt, DetectedAt: l.detectedAt, Seen: s.memory.seen(l.ID), Exit: l.how(),
	}}
}

func (a Answered) apply(s *State) {
	c := s.call
	s.call = nil
	if c == nil || s.fenced {
		return
	}
	if a.Err != nil {
		s.callFailed(a.Err)
		return
	}
	s.retry.clear()
	s.noTrouble(viaCall)
	// If nothing newer was learnt meanwhile, the answer is as good as a read.
	asOf, upToDate := c.level, c.level == s.level
	if s.see(a.Reply.Level, upToDate); upToDate {
		asOf = s.level
	}
	s.place = &place{a.Reply.Step, a.Reply.Stage}
	if l := s.find(c.id); l != nil && s.outdo(l, a.Reply.Newest) {
		return
	}
	switch did := c.action.(type) {
	case Join:
		s.toldStart(c.id, did)
		s.joined(s.find(c.id), a.Reply, asOf)
	case Down:
		s.buried(s.find(c.id), a.Reply, asOf)
	case Ask:
		s.asked[c.id] = true
	}
}

// buried ends the life whose death the store knows. One that has finished is held, until it is released or runs again.
func (s *State) buried(l *life, r coordination.Reply, asOf coordination.Level) {
	if !l.reported {
		s.log(Info, "death reported", "instance", l.ID, "level", r.Level.String())
	}
	if !l.finished {
		s.forget(l.ID)
		return
	}
	l.reported, l.released = true, r.Released
	s.answered(l, r, asOf)
}

func (s *State) answered(l *life, r coordination.Reply, asOf coordination.Level) {
	l.under, l.asOf = r.Level, asOf
	l.again = s.now.Add(s.jitter(lastRetry))
}

func (s *State) joined(l *life, r coordination.Reply, asOf coordination.Level) {
	news := l.round != r.Round || !l.told.SameLife(r.Level)
	s.answered(l, r, asOf)
	l.round, l.released = r.Round, r.Released
	if r.Round != coordination.NoRound {
		s.toldWith(l)
		s.memory.assign(l.Instance, r.Level, r.Round)
	}
	if news {
		l.told = r.Level
		s.log(Info, "joined", "instance", l.ID, "epoch", r.Level.Epoch, "round", r.Round, "phase", string(r.Level.Phase))
	}
}
