package worker

import (
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	firstRetry = 100 * time.Millisecond // after a transport error; doubled each time
	lastRetry  = 5 * time.Second
	slowRetry  = 30 * time.Second // for errors that the agent cannot fix; about the interval of the Watch
)

// retry determines when the next call may be made.
type retry struct {
	at       time.Time
	failures int
}

func (r *retry) clear() { *r = retry{} }

// jitter returns a random duration between d/2 and d, so that agents that failed at the same time do not retry at the same time.
func (s *State) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(s.config.Random()*float64(d/2))
}

// callFailed decides when to retry after an error. No error stops the worker.
func (s *State) callFailed(err error) {
	switch {
	case errors.Is(err, coordination.ErrNoGroup):
		s.waitForGroup()
	case errors.Is(err, coordination.ErrUnknownSlot) || errors.Is(err, coordination.ErrForeignValue):
		s.retry.at = s.now.Add(s.jitter(slowRetry))
	default:
		s.retry.at = s.now.Add(s.jitter(min(lastRetry, firstRetry<<min(s.retry.failures, 10))))
		s.retry.failures++
	}
	s.trouble(viaCall, err)
}

// waitForGroup waits until the Watch reports that there is a group. The retry time is only a fallback.
func (s *State) waitForGroup() {
	if !s.retry.at.After(s.now) {
		s.retry.at = s.now.Add(s.jitter(slowRetry))
	}
}

// way is one of the two ways in which the agent uses the store: calls and the Watch.
type way int

const (
	viaCall way = iota
	viaWatch
)

// trouble records a problem with calls or with the Watch. Each problem is logged only once until it changes, even if it affects
// both.
func (s *State) trouble(w way, err error) {
	kind, message, level := s.explain(err)
	known := s.troubles[viaCall] == kind || s.troubles[viaWatch] == kind
	s.troubles[w] = kind
	if !known {
		s.log(level, message, "error", err.Error())
	}
}

// noTrouble records that calls work, or that the Watch does.
func (s *State) noTrouble(w way) {
	before := s.troubles
	s.troubles[w] = ""
	if s.troubles != before && s.troubles == [2]string{} {
		s.log(info, "store reachable")
	}
}

// explain returns the kind of an error, which stays the same as long as the problem does, and a message that says what is wrong,
// and what to do. No problem stops a running worker.
func (s *State) explain(err error) (kind, message string, level slog.Level) {
	switch {
	case errors.Is(err, coordination.ErrNoGroup):
		return "no group", "no group exists for this JobSet, waiting for the orchestrator", warning
	case errors.Is(err, coordination.ErrUnknownSlot):
		return "unknown slot", "the group has no slot " + s.config.Slot.Name + ", check --worker-id", failure
	case errors.Is(err, coordination.ErrForeignValue): // one kind, because any member of the group can send any number of them
		return "foreign value", "ignored a foreign value in the store", failure
	case errors.Is(err, coordination.ErrSwitched):
		return "switched", "switched between the relay and a direct store connection", info
	default:
		return "unreachable", "the store is unreachable; a running worker keeps running, and reports are queued", warning
	}
}
