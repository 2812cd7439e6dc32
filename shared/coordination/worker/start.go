package worker

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// start starts the current instance once its unit has been started, after the level's pause.
func (s *State) start() {
	i := s.current()
	if !s.config.Barrier || s.leaving || i == nil || i.Ran || i.ordered() || !s.active() || !s.unitStarted() || !i.in(s.here()) || s.unsure(i) || s.waits(i) {
		return
	}
	i.Ran, i.Saw, i.signs.at = true, true, s.now
	s.memory.Ran = true
	s.remember(i)
	s.save()
	s.do(Start{i.ID, s.level.Generation, i.Round, s.slot().Name})
}

// unsure reports whether the join of a waiting instance has not been confirmed on this connection. The store may have been rolled back, or another
// store may answer, so another pod may hold the slot.
func (s *State) unsure(i *instance) bool { return !i.Ran && i.joined != s.here() }

// waits reports whether the instance must wait because previous rounds ended early. The pause begins when the agent learns that its
// unit was started, by the agent's own clock.
func (s *State) waits(i *instance) bool {
	if i.startIn != i.Round || i.startAt.IsZero() {
		i.startIn, i.startAt = i.Round, s.now.Add(s.level.Pause)
		if s.level.Pause > 0 {
			s.log(info, "restarts keep failing early, delaying the start of the worker", "pause", s.level.Pause.String(), "round", i.Round)
		}
	}
	if s.now.Before(i.startAt) {
		s.wakeAt(i.startAt)
		return true
	}
	return false
}

// prepare requests an instance if there is none, even if the store is unavailable. The instance waits for its unit to be started.
func (s *State) prepare() {
	if !s.config.Barrier || s.preparing || s.leaving || s.released || s.newest() != nil || s.held() != nil {
		return
	}
	s.preparing = true
	s.do(Prepare{})
}

// runAgain drops a held worker once the group is in a later round, so that a new instance takes its place.
func (s *State) runAgain() {
	i := s.held()
	if i == nil || !s.active() || s.placed.Free() || s.level.Left.Has(s.placed.Unit) || s.level.Round <= i.Round {
		return
	}
	s.log(info, "running the finished worker again", "instance", i.ID, "round", i.Round, "desired", s.level.Round)
	s.memory.Finished = ""
	s.forget(i)
}

// release lets the supervisor exit if its worker has finished or never ran, and will not run again.
func (s *State) release() {
	i := s.held()
	if i == nil {
		i = s.current()
	}
	if !s.config.Barrier || s.released || i == nil || (i.Ran && !i.finished) || s.level.Generation != s.memory.Generation || s.placed == nil {
		return
	}
	free := s.placed.Free() && i.finished && i.reported
	if free || s.level.Phase == rounds.Done || s.level.Left.Has(s.placed.Unit) {
		s.released = true
		s.do(Release{})
	}
}

// tellRound tells the worker which round an instance belongs to if it starts now, whenever that changes. It does so before an order to stop, so
// that the next instance finds the new round.
func (s *State) tellRound() {
	if s.config.Barrier || !s.active() || s.leaving || s.held() != nil {
		return
	}
	round := s.level.Round
	if i := s.newest(); s.unitStarted() && (i == nil || i.Round != round) && !slices.ContainsFunc(s.instances, func(i *instance) bool { return i.present && i.Round == NoRound }) {
		round++ // the death of the previous instance opens the next round
	}
	if next := (TellRound{s.level.Generation, round}); next != s.told {
		s.told = next
		s.do(next)
	}
}

// endOf decides whether an exited worker has finished or died. Exit code 0 after an order to stop counts as a death.
func (s *State) endOf(i *instance) {
	switch {
	case i.code != 0 || i.ordered():
	case s.leaving:
		i.code = killedExitCode
	default:
		i.finished = true
		s.memory.Finished = i.ID
	}
}

// killedExitCode is reported for a worker that exited with code 0 because its pod was ending.
const killedExitCode = 143
