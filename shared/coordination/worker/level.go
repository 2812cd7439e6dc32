package worker

import "github.com/holdfast-project/holdfast/shared/coordination/rounds"

func (s *State) read() {
	if !s.reading {
		s.reading, s.readAt = true, s.level.Seq
		s.do(Read{})
	}
}

// adoptMessage adopts a level from a message or an answer. If that level is rejected, the agent reads the current one. Levels from a
// read are adopted directly, because another read would return the same level.
func (s *State) adoptMessage(l rounds.Level) {
	if s.forged(l) {
		s.read()
	}
	s.adopt(l)
}

// forged reports whether a level's round exceeds the budget.
func (s *State) forged(l rounds.Level) bool { return s.placed != nil && l.Round > s.placed.Limit }

// adopt makes a level the current one, unless it is forged.
func (s *State) adopt(l rounds.Level) {
	if s.forged(l) {
		s.countForeign()
		return
	}
	s.level = l
	switch generation := s.memory.Generation; {
	case generation == 0:
		s.memory.enter(l.Generation)
	case l.Generation > generation:
		s.fence("the group is in a later generation")
		return
	case l.Generation < generation:
		return // the leader has not reached the pod's generation yet
	}
	s.memory.Highest = max(s.memory.Highest, l.Round)
	if s.memory.EnteredIn != l.Incarnation {
		s.memory.EnteredIn, s.memory.Entered = l.Incarnation, 0
	}
	s.memory.Entered = max(s.memory.Entered, l.Entered)
}

// adoptAnswer adopts the level in an answer. If that level belongs to a different incarnation, the agent reads the level and what
// the leader has decided about the pod instead. It does the same if the level is older than the current one, which can happen if
// the store was reset to an earlier state. Calls wait for the read, because until then they would get the same answer.
func (s *State) adoptAnswer(now rounds.Level) {
	if now.Incarnation != s.level.Incarnation || now.Seq < s.level.Seq {
		s.retry.at = s.now.Add(s.jitter(lastRetry))
		s.read()
		return
	}
	s.adoptMessage(now)
}

// fence makes the agent stop all activity.
func (s *State) fence(why string) {
	s.fenced = true
	s.log(warning, "this pod no longer holds its slot; the agent is no longer reporting", "reason", why)
}

// active reports whether the store accepts reports: the group is active in the pod's own generation, and the pod has a slot.
func (s *State) active() bool {
	return s.level.Phase == rounds.Active && s.level.Generation == s.memory.Generation && s.placed != nil && s.slot().Name != "" && !s.ousted
}

// entered returns the number of units, in start order, that have run in this generation as far as the agent knows. If a worker of
// its slot has run, its own unit is included.
func (s *State) entered() int {
	if s.memory.Ran {
		return max(s.memory.Entered, s.placed.Unit+1)
	}
	return s.memory.Entered
}

func (s *State) here() place { return place{s.level.Incarnation, s.level.Round} }

// unitStarted reports whether the slot's unit has been started in the current round.
func (s *State) unitStarted() bool { return s.placed != nil && s.level.Started > s.placed.Unit }

// noteStarted records that the current instance was running when its unit was started in the current round.
func (s *State) noteStarted() {
	i := s.current()
	if i == nil || !s.active() || !s.unitStarted() || i.Round != s.level.Round || !i.Ran {
		return
	}
	i.Saw, s.memory.Ran = true, true
	s.remember(i)
}

// countForeign counts foreign values. It logs only when the count reaches a power of ten, because any member of the group can
// send any number of them.
func (s *State) countForeign() {
	s.foreign++
	n := s.foreign
	for n%10 == 0 {
		n /= 10
	}
	if n == 1 && s.foreign > 1 {
		s.log(warning, "ignored foreign values in the store", "count", s.foreign)
	}
}
