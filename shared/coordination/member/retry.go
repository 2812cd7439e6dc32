package member

import (
	"errors"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	firstRetry = 100 * time.Millisecond // after a transport error, doubled each time
	lastRetry  = 5 * time.Second
	slowRetry  = 30 * time.Second // for what only somebody else can mend; about the rhythm of the Watch
)

// retry is when the next call may be made.
type retry struct {
	at       time.Time
	failures int
}

func (r *retry) clear() { *r = retry{} }

// jitter is between half of d and d, so that agents that failed together do not return together.
func (s *State) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(s.config.Random()*float64(d/2))
}

// callFailed decides how to go on after an error. The worker runs on whatever the error is.
func (s *State) callFailed(err error) {
	switch {
	case errors.Is(err, coordination.ErrFenced):
		s.fenced = true
		s.log(Warning, "this pod no longer holds its slot: the agent is quiet from now on, "+s.meanwhile())
		return
	case errors.Is(err, coordination.ErrNoGroup):
		s.waitForGroup()
	case isForeign(err):
		s.retry.at = s.now.Add(s.jitter(slowRetry))
	default:
		s.retry.at = s.now.Add(s.jitter(min(lastRetry, firstRetry<<min(s.retry.failures, 10))))
		s.retry.failures++
	}
	s.trouble(viaCall, err)
}

// waitForGroup leaves it to the Watch to tell that there is a group; the time is only a net.
func (s *State) waitForGroup() {
	if !s.retry.at.After(s.now) {
		s.retry.at = s.now.Add(s.jitter(slowRetry))
	}
}

func isForeign(err error) bool {
	return errors.Is(err, coordination.ErrUnknownSlot) || errors.Is(err, coordination.ErrForeignValue)
}

// way is one of the two ways to the store.
type way int

const (
	viaCall way = iota
	viaWatch
)

// trouble notes what is wrong with one way to the store. It is told once until it changes, and not by both ways.
func (s *State) trouble(w way, err error) {
	kind, message, severity := s.explain(err)
	known := s.troubles[viaCall] == kind || s.troubles[viaWatch] == kind
	s.troubles[w] = kind
	if !known {
		s.log(severity, message, "error", err.Error())
	}
}

// noTrouble notes that one way to the store works.
func (s *State) noTrouble(w way) {
	before := s.troubles
	s.troubles[w] = ""
	if s.troubles != before && s.troubles == [2]string{} {
		s.log(Info, "the store answers again")
	}
}

// explain gives an error's kind, which is the same as long as it is no news, and says what is wrong, what the worker does meanwhile, and
// what to do.
func (s *State) explain(err error) (kind, message string, v Severity) {
	switch {
	case errors.Is(err, coordination.ErrNoGroup):
		return "no group", "no group is open for this JobSet: waiting for the orchestrator, " + s.meanwhile(), Warning
	case errors.Is(err, coordination.ErrUnknownSlot):
		return "unknown slot", "the group has no slot " + s.config.Slot + ": check --worker-id; " + s.meanwhile(), Error
	case errors.Is(err, coordination.ErrForeignValue):
		return foreignKind(err), "the store holds a value that is not ours: nothing is done about it, " + s.meanwhile(), Error
	default:
		return "unreachable", "the store is unreachable: " + s.meanwhile() + ", reports wait", Warning
	}
}

// meanwhile says what the worker does while the store is of no help.
func (s *State) meanwhile() string {
	switch l := s.current(); {
	case s.held() != nil:
		return "the finished worker is held"
	case l == nil:
		return "no worker runs"
	case s.config.Barrier && !l.lifted:
		return "the worker is not started before the group is complete"
	}
	return "the worker runs on"
}

// foreignKind: what is stored changes with those who mend it, what is broadcast with whoever sends it.
func foreignKind(err error) string {
	var foreign *coordination.ForeignValueError
	if errors.As(err, &foreign) && foreign.Field == coordination.FieldMessage {
		return "foreign message"
	}
	return err.Error()
}
