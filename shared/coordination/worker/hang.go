package worker

import (
	"time"
)

// Progress says when a worker that runs counts as hanging.
type Progress struct {
	Timeout time.Duration // between two signs of progress; 0: none are asked for
	Start   time.Duration // from the start to the first sign; 0: however long that takes
}

// looksPerTimeout is how often the signs are looked for: a hang is found at most an eighth of the timeout late.
const looksPerTimeout = 8

// every is the time between two looks.
func (p Progress) every() time.Duration {
	shortest := p.Timeout
	if p.Start > 0 {
		shortest = min(shortest, p.Start)
	}
	return shortest / looksPerTimeout
}

// signs are what is known of the progress of one instance.
type signs struct {
	count  uint64
	at     time.Time // of the newest sign; of the start before the first one
	looked time.Time // when they were last looked for
	hung   time.Duration
	found  time.Time // when it was found to hang; zero: it was not
}

// note takes in what a look has seen. Time in which nobody looked is no silence: a node that was frozen is no hang.
func (g *signs) note(count uint64, every time.Duration, now time.Time) {
	if gap := now.Sub(g.looked); !g.looked.IsZero() && gap > 2*every {
		g.at = g.at.Add(gap - every)
	}
	g.looked = now
	if count > g.count {
		g.count, g.at = count, now
	}
}

// limit is when silence becomes a hang; not ok if it never does.
func (g *signs) limit(p Progress) (limit time.Time, allowed time.Duration, ok bool) {
	allowed = p.Timeout
	if g.count == 0 {
		allowed = p.Start
	}
	return g.at.Add(allowed), allowed, p.Timeout > 0 && allowed > 0
}

// endHung ends an instance that has made no progress for too long. One that waits at the barrier, that is held or ordered
// to restart anyway does not hang. It is not asked to save first: a worker that is stuck in a collective cannot.
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

// hangs looks for signs at intervals, and finds a hang when one look after the limit has seen none.
func (s *State) hangs(i *instance) bool {
	g := &i.signs
	limit, allowed, ok := g.limit(s.config.Progress)
	if ok && !g.looked.Before(limit) {
		g.hung, g.found = allowed, s.now
		s.log(Warning, "the worker makes no progress: it is killed, and the group restarts", "instance", i.ID,
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
