package worker

import "time"

// Progress determines when a running worker counts as hanging.
type Progress struct {
	Timeout time.Duration // between two signs of progress; 0 if none are required
	Start   time.Duration // from the start to the first sign; 0 means no limit
}

// looksPerTimeout is how often within a timeout the agent checks for signs. A hang is found at most an eighth of the timeout late.
const looksPerTimeout = 8

// every returns the interval between two checks.
func (p Progress) every() time.Duration {
	shortest := p.Timeout
	if p.Start > 0 {
		shortest = min(shortest, p.Start)
	}
	return shortest / looksPerTimeout
}

// signs is what is known about the progress of one instance.
type signs struct {
	count  uint64
	at     time.Time // time of the newest sign or, before the first one, of the start
	looked time.Time // time of the last check
	hung   time.Duration
	found  time.Time // when it was found to hang; zero if it was not
}

// note records the result of a check. Time without checks does not count as silence: a frozen node is not a hang.
func (g *signs) note(count uint64, every time.Duration, now time.Time) {
	if gap := now.Sub(g.looked); !g.looked.IsZero() && gap > 2*every {
		g.at = g.at.Add(gap - every)
	}
	g.looked = now
	if count > g.count {
		g.count, g.at = count, now
	}
}

// limit returns when silence becomes a hang. ok is false if it never does.
func (g *signs) limit(p Progress) (limit time.Time, allowed time.Duration, ok bool) {
	allowed = p.Timeout
	if g.count == 0 {
		allowed = p.Start
	}
	return g.at.Add(allowed), allowed, p.Timeout > 0 && allowed > 0
}

// endHung ends an instance that has made no progress for too long. An instance does not hang if it waits at the barrier, is held,
// or is ordered to restart anyway. It is not asked to save a checkpoint first, because a worker that is stuck in a collective
// cannot.
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

// hangs checks for signs at intervals. It reports a hang when a check after the limit has found none.
func (s *State) hangs(i *instance) bool {
	g := &i.signs
	limit, allowed, ok := g.limit(s.config.Progress)
	if ok && !g.looked.Before(limit) {
		g.hung, g.found = allowed, s.now
		s.log(Warning, "worker hung, killing it so that the group restarts", "instance", i.ID,
			"for", allowed.String(), "first", g.count == 0)
		return true
	}
	next := g.looked.Add(s.config.Progress.every())
	if g.looked.IsZero() || !s.now.Before(next) {
		s.do(Observe{})
		next = s.now.Add(s.config.Progress.every())
	}
	s.wakeAt(next)
	return false
}
