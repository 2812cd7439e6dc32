package worker

import "time"

// Progress determines when a running worker is considered hung.
type Progress struct {
	Timeout time.Duration // maximum time between two signs of progress; 0 if none are required
	Start   time.Duration // maximum time from the start to the first sign; 0 means no limit
}

// looksPerTimeout is how often the agent checks for signs of progress within a timeout. A hang is detected at most an eighth of
// the timeout late.
const looksPerTimeout = 8

// every returns the interval between two checks.
func (p Progress) every() time.Duration {
	shortest := p.Timeout
	if p.Start > 0 {
		shortest = min(shortest, p.Start)
	}
	return shortest / looksPerTimeout
}

// signs records what is known about an instance's progress.
type signs struct {
	count  uint64
	at     time.Time // time of the last sign or, before the first one, of the start
	looked time.Time // time of the last check
	hung   time.Duration
	found  time.Time // when the hang was detected; zero if there was none
}

// note records the result of a check. Time without checks does not count as silence, because a frozen node is not a hang.
func (g *signs) note(count uint64, every time.Duration, now time.Time) {
	if gap := now.Sub(g.looked); !g.looked.IsZero() && gap > 2*every {
		g.at = g.at.Add(gap - every)
	}
	g.looked = now
	if count > g.count {
		g.count, g.at = count, now
	}
}

// endHung kills an instance that has not made progress for too long. Instances that are waiting at the barrier, are held or are
// about to restart anyway do not count as hung. A hung worker is not asked to save a checkpoint, because it could not do so while
// it is stuck in a collective.
func (s *State) endHung() {
	i := s.current()
	if i == nil || !s.config.Barrier || !i.Ran || s.config.Progress.Timeout == 0 || s.leaving || s.behind() > 0 {
		return
	}
	if i.signs.found.IsZero() && !s.hangs(i) {
		return
	}
	switch {
	case i.order.running || (!i.order.given.IsZero() && i.order.retryAt.IsZero()):
		return
	case s.now.Before(i.order.retryAt):
		s.wakeAt(i.order.retryAt)
		return
	case i.order.given.IsZero():
		i.order.given, i.order.hang = s.now, true
	}
	i.order.running, i.order.retryAt = true, time.Time{}
	s.do(Stop{ID: i.ID, Haste: Hung})
}

// hangs reports whether an instance is hung, which is the case if a check after the limit has found no new sign of progress. It
// requests checks at intervals.
func (s *State) hangs(i *instance) bool {
	g, p := &i.signs, s.config.Progress
	allowed := p.Timeout // without a sign of progress
	if g.count == 0 {
		allowed = p.Start
	}
	if p.Timeout > 0 && allowed > 0 && !g.looked.Before(g.at.Add(allowed)) {
		g.hung, g.found = allowed, s.now
		s.log(warning, "worker hung, killing it so that the group restarts", "instance", i.ID,
			"for", allowed.String(), "first", g.count == 0)
		return true
	}
	next := g.looked.Add(p.every())
	if g.looked.IsZero() || !s.now.Before(next) {
		s.do(Observe{})
		next = s.now.Add(p.every())
	}
	s.wakeAt(next)
	return false
}
