package member

import (
	"errors"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

func (t Told) apply(s *State) {
	if s.fenced {
		return
	}
	if t.Err != nil {
		s.watchFailed(t.Err)
		return
	}
	s.noTrouble(viaWatch)
	s.retry.clear()
	s.see(t.Level, t.Read)
	if t.Read {
		s.confirm()
	}
}

// confirm repeats after each read what the store may have lost without a trace in the level, by going back less than one
// change of it: the join of a round or a step that still waits for joins, that a held worker has finished, and a request
// for recreation that was not followed.
func (s *State) confirm() {
	if (unfinished(s.level.Phase) || s.forming() || s.held() != nil || s.outOfStep()) && s.behind() == 0 {
		s.joinAgain()
	}
	if s.level.Phase == coordination.Running || s.level.Phase == coordination.Restarting {
		clear(s.asked)
	}
}

// outOfStep tells whether the group runs in a round that the living instance was not told of: it was given that one in its
// absence, by a store that has lost what it was given before.
func (s *State) outOfStep() bool {
	l := s.current()
	return l != nil && s.level.Phase == coordination.Running && s.entered() && l.round != coordination.NoRound &&
		l.under.SameLife(s.level) && l.round < s.level.Round
}

// unfinished phases wait for joins.
func unfinished(p coordination.Phase) bool {
	return p == coordination.Forming || p == coordination.Restarting || p == coordination.Recovering
}

func (s *State) watchFailed(err error) {
	if errors.Is(err, coordination.ErrNoGroup) {
		s.waitForGroup()
	}
	s.trouble(viaWatch, err)
	if errors.Is(err, coordination.ErrForeignValue) {
		s.countForeign()
	}
}

// countForeign keeps count of what is not ours. It is told at powers of ten, because whoever shares the group can send as
// much of it as it likes.
func (s *State) countForeign() {
	s.foreign++
	n := s.foreign
	for n%10 == 0 {
		n /= 10
	}
	if n == 1 && s.foreign > 1 {
		s.log(Warning, "values that are not ours were ignored", "count", s.foreign)
	}
}

// see takes in a level. What was read is what the store holds, even if it is older than what is known: the store went
// back. What was broadcast may be late, and of another incarnation it proves nothing: the answer to a join will tell.
func (s *State) see(l coordination.Level, read bool) {
	known := s.level.Phase != ""
	foreign := known && l.Incarnation != s.level.Incarnation
	older := l.Older(s.level)
	switch {
	case !read && foreign:
		s.joinAgain()
		return
	case !read && (older || s.backwards(l)):
		return
	case foreign || older:
		s.log(Warning, "the store lost data: joining again", "level", l.String(), "known", s.level.String())
		s.joinAgain()
	}
	s.adopt(l)
}

// backwards tells what no store says within an incarnation: an earlier epoch, or fewer rounds of the same one. Anybody with
// the group's credentials can broadcast it; if the store did go back, a read says so.
func (s *State) backwards(l coordination.Level) bool {
	fewer := l.Epoch == s.level.Epoch && l.Generation == s.level.Generation && l.Round < s.level.Round
	return l.Incarnation == s.level.Incarnation && (l.Epoch < s.level.Epoch || fewer)
}

func (s *State) adopt(l coordination.Level) {
	if l.Epoch != s.level.Epoch || l.Round != s.level.Round || l.Phase != s.level.Phase {
		s.log(Info, "group", "phase", string(l.Phase), "epoch", l.Epoch, "round", l.Round)
	}
	s.level = l
}

// joinAgain makes the living instance join once more, and a held worker say again that it has finished.
func (s *State) joinAgain() {
	for _, l := range s.lives {
		l.under, l.again = coordination.Level{}, s.now
	}
}

// inSync tells whether an instance is of the desired round in this life of the group.
func (s *State) inSync(l *life) bool {
	return l != nil && l.round == s.level.Round && l.under.SameLife(s.level) && s.entered()
}

// noteRunning remembers that the round of the living instance was seen Running.
func (s *State) noteRunning() {
	l := s.current()
	if s.level.Phase != coordination.Running || !s.inSync(l) || s.memory.Running || !s.memory.holds(l.ID) {
		return
	}
	s.memory.Running = true
	s.log(Info, "in sync", "epoch", s.level.Epoch, "round", s.level.Round)
}
