package member

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// successorWait is how long the report of a stopped instance waits for the one after it, which a driver with a barrier makes
// at once. One call for the two is half of what a restart costs the store.
const successorWait = 100 * time.Millisecond

// toldByNext tells whether the death of an instance is left to the join of the next one: it was stopped on an order of this
// life of the group, so that the store expects nothing else.
func (s *State) toldByNext(l *life) bool {
	ordered := !l.order.given.IsZero() && !l.order.hang && !l.finished
	if !s.config.Barrier || s.leaving || !ordered || s.level.Phase != coordination.Restarting || !l.under.SameLife(s.level) {
		return false
	}
	if l != s.lives[len(s.lives)-1] {
		return s.current() != nil
	}
	due := l.exitSeen.Add(successorWait)
	if s.now.Before(due) {
		s.wakeAt(due)
		return true
	}
	return false
}

// goneFor is how long the instance has been dead, in milliseconds, whose death a join reports; 0 if it reports none.
func (s *State) goneFor() int64 {
	for _, l := range s.lives {
		if l.exited && !l.reported && s.toldByNext(l) {
			return max(1, s.now.Sub(l.exitSeen).Milliseconds())
		}
	}
	return 0
}

// toldWith forgets those before an instance whose deaths the store knows now.
func (s *State) toldWith(l *life) {
	if !s.config.Barrier {
		return
	}
	for _, before := range slices.Clone(s.lives[:slices.Index(s.lives, l)]) {
		if before.exited {
			s.forget(before.ID)
		}
	}
}
