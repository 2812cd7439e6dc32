// Package worker is the core of the agent. It decides what to do about one worker, based on what the driver observes and what the
// store reports. It does no I/O: the agent and the simulation pass events to it and execute its actions.
package worker

import "time"

// Step processes one event and returns the resulting actions.
func (s *State) Step(now time.Time, e Event) []Action {
	s.now, s.next, s.out = now, time.Time{}, nil
	if !s.fenced {
		e.apply(s)
	}
	if !s.fenced {
		s.decide()
	}
	return s.out
}

func (s *State) decide() {
	s.becomeSpare()
	s.noteStarted()
	s.tellRound()
	s.orderStop()
	s.runAgain()
	s.start()
	s.save()
	s.endHung()
	s.prepare()
	s.release()
	s.callNext()
}

// NextTick returns when a Tick is due, or false if none is needed before the next event.
func (s *State) NextTick() (time.Time, bool) { return s.next, !s.next.IsZero() }

// Settled reports whether nothing is left to report.
func (s *State) Settled() bool { return s.fenced || (s.call == nil && s.nextCall() == nil) }

// Fenced reports whether the pod has permanently lost its slot, so that its agent no longer acts.
func (s *State) Fenced() bool { return s.fenced }
