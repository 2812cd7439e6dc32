package member

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	// Config.MaxStops and guardPeriod bound what any store can do to a worker. At a barrier a restart takes so little time
	// that many may be right; more are taken for a mistake that the leader has to end.
	defaultMaxStops          = 5
	defaultMaxStopsAtBarrier = 60
	guardPeriod              = time.Minute
	// killSlack is how much longer than its grace period a worker may take to die.
	killSlack = 30 * time.Second
	// stopRetry is the pause after a driver's error.
	stopRetry = 2 * time.Second
)

// behind tells by how many rounds the living instance is behind an order of this life of the group. While its step forms
// there is none for it.
func (s *State) behind() int64 {
	l := s.current()
	if l == nil || s.level.Phase != coordination.Restarting || !l.under.SameLife(s.level) || l.round == coordination.NoRound {
		return 0
	}
	if !s.entered() {
		return 0
	}
	return max(0, s.level.Round-l.round)
}

// orderStop stops the living instance if it is one round behind. More than one is the seed's guard: nobody is stopped,
// the group is asked to be recreated.
func (s *State) orderStop() {
	l := s.current()
	if s.behind() != 1 || s.leaving || l.order.running || s.now.Before(l.order.retryAt) {
		s.wakeForStop(l)
		return
	}
	if l.order.given.IsZero() {
		if !s.guardAllows() {
			return
		}
		s.give(l)
	} else if l.order.retryAt.IsZero() {
		return // it was stopped: it only remains to be seen exited
	}
	l.order.running, l.order.retryAt = true, time.Time{}
	s.save()
	haste, grace := s.haste(l)
	s.do(Stop{l.Instance, grace, haste})
}

func (s *State) give(l *life) {
	l.order.given = s.now
	s.stops = append(s.stops, s.now)
	s.memory.Ordered = l.ID
	s.log(Info, "ordered to restart", "instance", l.ID, "round", l.round, "desired", s.level.Round, "grace", s.config.Grace.String())
}

func (s *State) wakeForStop(l *life) {
	if l != nil && s.now.Before(l.order.retryAt) {
		s.wakeAt(l.order.retryAt)
	}
}

// guardAllows refuses more than Config.MaxStops within guardPeriod, whatever the store says.
func (s *State) guardAllows() bool {
	s.stops = slices.DeleteFunc(s.stops, func(t time.Time) bool { return s.now.Sub(t) >= guardPeriod })
	if len(s.stops) < s.config.MaxStops {
		s.guarded = false
		return true
	}
	s.wakeAt(s.stops[0].Add(guardPeriod))
	if !s.guarded {
		s.guarded = true
		s.log(Warning, "too many orders: this one waits", "stops", len(s.stops), "within", guardPeriod.String())
	}
	return false
}

func (e StopEnded) apply(s *State) {
	if e.Err == nil {
		s.log(Info, "stopped", "instance", e.ID, "tookMs", e.Took.Milliseconds())
	}
	l := s.find(e.ID)
	if l == nil || l.exited {
		return
	}
	l.order.running = false
	if e.Err != nil {
		l.order.retryAt = s.now.Add(s.jitter(stopRetry))
		s.log(Warning, "stopping the worker failed: trying again", "instance", l.ID, "error", e.Err.Error())
	}
}

// nextAsk is what the group has to be asked for. Each reason is told once, unless a later read shows that it was lost.
func (s *State) nextAsk() *call {
	if s.behind() > 1 {
		id := fmt.Sprintf("%s %d %d", coordination.KindGap, s.level.Epoch, s.level.Round)
		return s.ask(id, coordination.KindGap)
	}
	if s.config.Barrier && s.guarded && s.behind() > 0 {
		id := fmt.Sprintf("%s %d %d", coordination.KindStops, s.level.Epoch, s.level.Round)
		return s.ask(id, coordination.KindStops)
	}
	l := s.current()
	if l == nil || l.order.given.IsZero() {
		return nil
	}
	if limit := l.order.given.Add(s.config.Grace + killSlack); s.now.Before(limit) {
		s.wakeAt(limit)
		return nil
	}
	return s.ask(coordination.KindUnkilled+" "+l.ID, coordination.KindUnkilled)
}

func (s *State) ask(id, kind string) *call {
	if s.asked[id] {
		return nil
	}
	return &call{action: Ask{s.member(), kind}, id: id}
}
