package worker

import (
	"slices"
	"time"
)

// stopRetry is how long to wait before a stop is retried after a driver error.
const stopRetry = 2 * time.Second

// behind returns how many rounds the current instance lags behind the desired round. Only an instance that has run needs to be
// stopped, because a waiting instance can join the next round as it is. An instance whose round never started is at most one round
// behind.
func (s *State) behind() int64 {
	i := s.current()
	if i != nil && i.Ran && s.ousted {
		return 1
	}
	if i == nil || !s.active() || !i.Ran || i.Round == NoRound {
		return 0
	}
	rounds := max(0, s.level.Round-i.Round)
	if !i.Saw {
		rounds = min(1, rounds)
	}
	return rounds
}

// orderStop stops the current instance if it is one round behind. If it is further behind, the guard of JobSet KEP-876 applies: the
// worker is not stopped, and the agent requests that the group be recreated.
func (s *State) orderStop() {
	i := s.current()
	if s.behind() != 1 || s.leaving || i.order.running || s.now.Before(i.order.retryAt) {
		if i != nil && s.now.Before(i.order.retryAt) {
			s.wakeAt(i.order.retryAt)
		}
		return
	}
	if i.order.given.IsZero() {
		if !s.guardAllows() {
			return
		}
		i.order.given = s.now
		s.stops = append(s.stops, s.now)
		s.memory.Ordered = i.ID
		s.log(info, "ordered to restart", "instance", i.ID, "round", i.Round, "desired", s.level.Round, "grace", s.config.Grace.String())
	} else if i.order.retryAt.IsZero() {
		return // it was stopped but has not been observed as exited yet
	}
	i.order.running, i.order.retryAt = true, time.Time{}
	s.save()
	haste, grace := s.haste(i)
	s.do(Stop{i.ID, grace, haste})
}

// guardAllows limits stops to Config.MaxStops within guardPeriod, regardless of what the store reports.
func (s *State) guardAllows() bool {
	s.stops = slices.DeleteFunc(s.stops, func(t time.Time) bool { return s.now.Sub(t) >= guardPeriod })
	if len(s.stops) < s.config.MaxStops {
		s.guarded = false
		return true
	}
	s.wakeAt(s.stops[0].Add(guardPeriod))
	if !s.guarded {
		s.guarded = true
		s.log(warning, "too many restarts, delaying this one", "stops", len(s.stops), "within", guardPeriod.String())
	}
	return false
}

func (e StopEnded) apply(s *State) {
	if e.Err == nil {
		s.log(info, "stopped", "instance", e.ID, "tookMs", e.Took.Milliseconds())
	}
	i := s.find(e.ID)
	if i == nil || i.exited {
		return
	}
	i.order.running = false
	if e.Err != nil {
		i.order.retryAt = s.now.Add(s.jitter(stopRetry))
		s.log(warning, "stopping the worker failed, retrying", "instance", i.ID, "error", e.Err.Error())
	}
}

// haste returns how to stop an instance that is ordered to restart. If it has been silent for half of its timeout, it is most
// likely stuck in a collective with the failed worker, and its SIGTERM handler would never run.
func (s *State) haste(i *instance) (h Haste, grace time.Duration) {
	p := s.config.Progress
	if s.config.Barrier && p.Timeout > 0 && i.signs.count > 0 && s.now.Sub(i.signs.at) >= p.Timeout/2 {
		return Stuck, 0
	}
	return Patient, s.config.Grace
}
