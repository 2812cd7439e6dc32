package member

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// startNotice is about when after its start a worker that waited at a barrier tells that it runs: late enough not to get in
// the way of its peers' starts. How long it has run by then is told as well, so that the delay costs no precision.
const startNotice = time.Second

// noteStart takes in when the user code of an instance began to run.
func (s *State) noteStart(l *life, w Worker) {
	if w.StartedAt > 0 && l.startedAt == 0 {
		l.startedAt, l.tellAt = w.StartedAt, s.now.Add(s.jitter(startNotice))
	}
}

// tellsStart tells whether the start of an instance is to be told now: once, while its round runs.
func (s *State) tellsStart(l *life) bool {
	if l.startedAt == 0 || l.startTold || l.exited || s.level.Phase != coordination.Running || !s.inSync(l) {
		return false
	}
	if s.now.Before(l.tellAt) {
		s.wakeAt(l.tellAt)
		return false
	}
	return true
}

// runsFor is how long an instance has run, in milliseconds; 0 if there is nothing to tell.
func (s *State) runsFor(l *life) int64 {
	if l.startedAt == 0 || l.startTold || s.level.Phase != coordination.Running || !s.inSync(l) {
		return 0
	}
	return max(1, s.now.UnixMilli()-l.startedAt)
}

// toldStart notes that the store knows.
func (s *State) toldStart(id string, j Join) {
	if l := s.find(id); l != nil && j.RunsFor > 0 {
		l.startTold = true
	}
}
