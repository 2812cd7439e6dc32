package member

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// killedExitCode is what a worker is said to have exited with that took an order of the pod's end for its success.
const killedExitCode = 143

// endAtBarrier tells a worker that has finished from one that died. Exit 0 on an order is a death, whoever gave it.
func (s *State) endAtBarrier(l *life) {
	if l.code != 0 || l.ordered() {
		return
	}
	if s.leaving {
		l.code = killedExitCode
		return
	}
	l.finished = true
	s.memory.Finished = l.ID
}

// held is the finished worker that may have to run again, or nil.
func (s *State) held() *life {
	if n := len(s.lives); n > 0 && s.lives[n-1].finished {
		return s.lives[n-1]
	}
	return nil
}

// runAgain lets go of a held worker when the group is in a later round: a new instance takes its place.
func (s *State) runAgain() {
	l := s.held()
	if l == nil || !l.reported || l.released || !l.under.SameLife(s.level) {
		return
	}
	restarts := s.level.Phase == coordination.Restarting || s.level.Phase == coordination.Running
	if restarts && s.entered() && s.level.Round > l.round {
		s.log(Info, "the finished worker runs again", "instance", l.ID, "round", l.round, "desired", s.level.Round)
		s.memory.Finished = ""
		s.forget(l.ID)
	}
}

// lift opens the barrier for the living instance, once its round runs.
func (s *State) lift() {
	l := s.current()
	if !s.config.Barrier || s.leaving || s.level.Phase != coordination.Running || !s.inSync(l) || l.lifted || l.ordered() {
		return
	}
	if s.waits(l) {
		return
	}
	l.lifted, l.signs.at = true, s.now
	s.do(Lift{l.Instance, s.level.Epoch, l.round})
}

// waits reports whether the instance has to wait before it starts, because the rounds before ended early. It is measured on the agent's own
// clock, from when it hears that the round runs.
func (s *State) waits(l *life) bool {
	if l.startRound != l.round || l.startAt.IsZero() {
		delay := time.Duration(s.level.Delay) * time.Millisecond
		l.startRound, l.startAt = l.round, s.now.Add(delay)
		if delay > 0 {
			s.log(Info, "the worker starts after a delay, because the rounds before ended early", "delay", delay.String(), "round", l.round)
		}
	}
	if s.now.Before(l.startAt) {
		s.wakeAt(l.startAt)
		return true
	}
	return false
}

// begin asks for an instance where there is none. A dead one's successor waits at the barrier, whatever the store does.
func (s *State) begin() {
	if !s.config.Barrier || s.beginning || s.leaving || s.released || s.newest() != nil || s.held() != nil {
		return
	}
	s.beginning = true
	s.do(Begin{})
}

// release lets a worker go that has finished, or that was never let run, if nothing will ask for it any more.
func (s *State) release() {
	l := s.held()
	if l == nil {
		l = s.current()
	}
	if !s.config.Barrier || s.released || l == nil || (l.lifted && !l.finished) || (l.finished && !l.reported) {
		return
	}
	if l.released || s.gone() || s.level.Phase == coordination.Completed {
		s.released = true
		s.do(Release{})
	}
}
