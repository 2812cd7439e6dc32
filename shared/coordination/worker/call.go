package worker

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// call is a store call in flight and the functions that handle its result.
type call struct {
	rounds.Call
	answered func(reply string, now rounds.Level) // called after now has been adopted
	lost     func()                               // called if there was no answer although the store may have executed the call; may be nil
}

// callNext makes the next call unless a call is in flight or must wait.
func (s *State) callNext() {
	if s.call != nil {
		return
	}
	c := s.nextCall()
	switch {
	case c == nil:
		s.troubles[viaCall] = "" // no call is waiting for an answer
	case s.now.Before(s.retry.at):
		s.wakeAt(s.retry.at)
	default:
		s.call = c
		s.do(Call{c.Call})
	}
}

// nextCall returns the most urgent call, or nil. Instances are handled in order of birth, so that a death is reported before the
// next join.
func (s *State) nextCall() *call {
	if s.released || !s.active() {
		return nil
	}
	if s.memory.Highest > s.level.Round {
		return s.lost()
	}
	for _, i := range slices.Clone(s.instances) {
		if c := s.callAbout(i); c != nil {
			return c
		}
	}
	return s.nextAsk()
}

func (s *State) callAbout(i *instance) *call {
	switch {
	case i.finished && i.Round == s.level.Round && !i.reported:
		if i.Incarnation != s.level.Incarnation || !s.unitStarted() { // the store may have lost the join, without which it does not accept a success
			if c := s.join(i); c != nil {
				return c
			}
		}
		return s.finish(i)
	case i.finished:
		return nil
	case i.exited:
		return s.down(i)
	case i.present:
		return s.join(i)
	}
	return nil
}

// lost restores a round that the store has lost.
func (s *State) lost() *call {
	return &call{
		Call: rounds.Lost(s.level.Incarnation, s.placed.Unit, s.slot(), s.memory.Highest, s.entered()),
		answered: func(reply string, now rounds.Level) {
			if now.Round < s.memory.Highest {
				s.retry.at = s.now.Add(s.jitter(lastRetry))
			}
		},
	}
}

// down reports a death in the current round. A death in a different round is expected or has already been handled. If a report is
// repeated, it contains the same round.
func (s *State) down(i *instance) *call {
	if i.Round == NoRound && i.Ran && !s.joinedAfter(i) {
		i.Round = s.level.Round // it died before it could join
	}
	s.noteDeath(i)
	if i.Round != s.level.Round && !s.leaving {
		s.forget(i)
		return nil
	}
	d := rounds.Death{Slot: s.slot(), ID: i.ID, Round: max(0, i.Round), Ran: i.Ran, Saw: i.Saw, Leaves: s.leaving, Cause: s.cause(i)}
	incarnation := s.level.Incarnation
	return &call{Call: rounds.Down(incarnation, s.placed.Unit, d), answered: func(reply string, now rounds.Level) {
		if reply == string(rounds.AnswerOver) && now.Incarnation != incarnation {
			return // the report is repeated in the new incarnation
		}
		if now.Round < d.Round { // the store was reset to an earlier state: the report is repeated once the round is restored
			s.retry.at = s.now.Add(s.jitter(firstRetry))
			return
		}
		s.log(info, "death reported", "instance", i.ID, "level", now.String())
		s.forget(i)
	}}
}

// noteDeath records in which round an instance ran and died.
func (s *State) noteDeath(i *instance) {
	if i.Ran && !i.finished {
		s.memory.DiedIn = max(s.memory.DiedIn, i.Round)
	}
}

// joinedAfter reports whether a newer instance has joined, so that the death of this one no longer matters.
func (s *State) joinedAfter(i *instance) bool {
	return slices.ContainsFunc(s.instances, func(o *instance) bool { return o.Born > i.Born && o.Round != NoRound })
}

// cause returns the cause of a death as reported to the leader.
func (s *State) cause(i *instance) string {
	c := coordination.Cause{
		Kind: coordination.KindExit, ExitCode: i.code, Signal: i.signal, Reason: i.reason,
		Place: coordination.Place{PodName: s.config.PodName, Node: s.config.Node},
	}
	if i.order.hang {
		c.Kind, c.Reason = coordination.KindHang, i.signs.hung.String()
	}
	return rounds.FormatFailure(coordination.Failure{Cause: c, FailedAt: i.failedAt, DetectedAt: i.detectedAt})
}

func (s *State) finish(i *instance) *call {
	return &call{
		Call: rounds.Finish(s.level.Incarnation, s.placed.Unit, s.slot(), i.ID, s.config.Barrier),
		answered: func(reply string, _ rounds.Level) {
			if reply != string(rounds.AnswerOver) {
				i.reported = true
				s.log(info, "success reported", "instance", i.ID, "round", i.Round)
				return
			}
			s.retry.at = s.now.Add(s.jitter(lastRetry))
		},
	}
}

// join reports that an instance is ready for the current round, once per connection, as long as its unit is waiting for joins.
func (s *State) join(i *instance) *call {
	behind := i.Ran && i.Round != NoRound && i.Round < s.level.Round // it will be stopped
	if behind || i.joined == s.here() || (s.unitStarted() && i.in(s.here()) && !s.unsure(i)) {
		return nil
	}
	if again := i.heldAt.Add(lastRetry); !i.heldAt.IsZero() && s.now.Before(again) {
		s.wakeAt(again)
		return nil
	}
	made := s.here()
	m := rounds.Member{Slot: s.slot(), ID: i.ID, Attempt: i.Attempt, Ran: i.Ran, Past: s.past(i)}
	return &call{
		Call:     rounds.Join(made.incarnation, s.placed.Unit, made.round, s.entered(), m),
		answered: func(reply string, now rounds.Level) { s.joined(i, made, reply, now) },
		lost:     func() { s.mayHaveJoined(i, made) },
	}
}

func (s *State) past(i *instance) rounds.Past {
	p := rounds.Past{Kind: rounds.PastNew, MoreEntered: s.entered() > s.level.Entered}
	switch {
	case i.Saw && i.Round == s.level.Round:
		p.Kind = rounds.PastRuns
	case s.memory.DiedIn == s.level.Round:
		p.Kind = rounds.PastDied
	case s.memory.Ran:
		p.Kind = rounds.PastRan
	}
	return p
}

// joined handles the answer to a join. now, the level right after the call, shows whether the round is still the same.
func (s *State) joined(i *instance, made place, reply string, now rounds.Level) {
	answer, err := rounds.ParseAnswer(reply)
	if err != nil {
		s.countForeign()
		s.retry.at = s.now.Add(s.jitter(slowRetry))
		return
	}
	i.heldAt = time.Time{}
	switch answer.Kind {
	case rounds.AnswerJoined:
		if s.fenced || s.here() != made || s.elsewhere(now, made) {
			s.mayHaveJoined(i, made)
			return
		}
		i.joined, i.Round, i.Incarnation = made, made.round, made.incarnation
		s.remember(i)
		s.log(info, "joined", "instance", i.ID, "generation", s.level.Generation, "round", i.Round)
	case rounds.AnswerFenced:
		s.fence("the leader has released the slot")
	case rounds.AnswerHeld:
		if i.heldAt = s.now; s.troubles[viaCall] == "" {
			s.log(info, "another pod holds the slot, waiting", "slot", s.slot().Name)
		}
		s.refused(i)
	case rounds.AnswerAttempt:
		s.memory.Attempt = answer.Attempt + 1
		i.Attempt = s.memory.Attempt
		s.remember(i)
	}
}

// elsewhere reports whether the store was in a different round or incarnation when it answered a join, even though the agent
// knows of no newer level. This happens if the store was reset to an earlier state, after which it may have reached a later
// round. In that case, the join has no effect, and the agent is reading the level.
func (s *State) elsewhere(now rounds.Level, made place) bool {
	if made == (place{now.Incarnation, now.Round}) {
		return false
	}
	s.retry.at = s.now.Add(s.jitter(firstRetry))
	return true
}

// mayHaveJoined records the round of a running instance whose join was not confirmed. Peers may have connected to it in that
// round, so it must restart before it can join a later round.
func (s *State) mayHaveJoined(i *instance, made place) {
	if i.Ran && i.Round == NoRound && made.incarnation == s.level.Incarnation {
		i.Round = made.round
		s.remember(i)
	}
}

func (a Answered) apply(s *State) {
	c := s.call
	s.call = nil
	if c == nil {
		return
	}
	if a.Err != nil {
		if c.lost != nil {
			c.lost()
		}
		s.callFailed(a.Err)
		return
	}
	s.retry.clear()
	s.noTrouble(viaCall)
	s.adoptAnswer(a.Now)
	c.answered(a.Reply, a.Now)
}

// killSlack is how much longer than its grace period a worker may take to die.
const killSlack = 30 * time.Second

// nextAsk returns a request to recreate the group, or nil if none is due. A request is sent once for each reason, and again after
// each read of the level, in case it was lost.
func (s *State) nextAsk() *call {
	i := s.current()
	switch behind := s.behind(); {
	case behind > 1:
		return s.ask(coordination.KindGap, fmt.Sprint(s.here()))
	case s.config.Barrier && s.guarded && behind > 0:
		return s.ask(coordination.KindStops, fmt.Sprint(s.here()))
	case i == nil || i.order.given.IsZero():
		return nil
	}
	if limit := i.order.given.Add(s.config.Grace + killSlack); s.now.Before(limit) {
		s.wakeAt(limit)
		return nil
	}
	return s.ask(coordination.KindUnkilled, i.ID)
}

func (s *State) ask(kind, about string) *call {
	id := kind + " " + about
	if s.asked[id] {
		return nil
	}
	return &call{Call: rounds.Ask(s.level.Incarnation, s.placed.Unit, s.slot(), kind), answered: func(string, rounds.Level) { s.asked[id] = true }}
}
