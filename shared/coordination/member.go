package coordination

import (
	"fmt"
	"math"
	"strings"
)

// maxWord bounds every name that comes from outside.
const maxWord = 512

// isWord tells whether a string can be a field of the store's packed records: no blank, no control character.
func isWord(s string) bool {
	return len(s) <= maxWord && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// maxKind bounds the reason that a member gives.
const maxKind = 32

// isKind tells whether a string can be a reason: letters, digits and dashes, so that it can be shown and counted anywhere.
func isKind(s string) bool {
	strange := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
	}
	return s != "" && len(s) <= maxKind && !strings.ContainsFunc(s, strange)
}

func isName(s string) bool { return s != "" && isWord(s) }

func isCount(n int64) bool { return n >= 0 && n <= MaxCount }

// isMoment is for Unix milliseconds, isBirth for Unix microseconds; now is the store's time. See MaxAhead.
func isMoment(n, now int64) bool { return n >= 0 && n <= now+MaxAhead }

func isBirth(n, now int64) bool { return n >= 0 && n <= (now+MaxAhead)*1000 }

// admit checks who speaks. It returns the slot's record if it is of the same pod, and whether the pod is new in a slot
// that another pod held; that one is then fenced, so that a slot has a single holder.
func (g *Group) admit(m Member, i Instance, seen Seen, now int64) (slot *Slot, newPod bool, err error) {
	if err := g.check(m, i, seen, now); err != nil {
		return nil, false, err
	}
	held := g.Slots[m.Slot]
	holds := held != nil && held.Pod == m.Pod
	older := held != nil && m.PodBorn < held.PodBorn
	fromEarlier := seen.Epoch > 0 && seen.Epoch < g.Epoch
	if !holds && (older || fromEarlier) {
		g.Fenced[m.Pod] = true
	}
	if g.Fenced[m.Pod] {
		g.Rejected++
		return nil, false, ErrFenced
	}
	if seen.Epoch > g.Epoch {
		return nil, false, ErrNoGroup // an old copy of the data; the leader brings the epoch back
	}
	return held, held != nil && !holds, nil
}

func (g *Group) check(m Member, i Instance, seen Seen, now int64) error {
	if g.stage(m.Slot) < 0 {
		return fmt.Errorf("%w: %q", ErrUnknownSlot, m.Slot)
	}
	if !isName(m.Pod) || !isWord(i.ID) || !isWord(m.PodName) || !isWord(m.Node) {
		return badArgument(m.Slot, fmt.Sprintf("%s %s %s %s", m.Pod, i.ID, m.PodName, m.Node))
	}
	for _, n := range []int64{seen.Epoch, seen.Round + 1, seen.Instances} {
		if !isCount(n) {
			return badArgument(m.Slot, fmt.Sprint(n))
		}
	}
	if !isBirth(m.PodBorn, now) || !isBirth(i.Born, now) {
		return badArgument(m.Slot, fmt.Sprint(m.PodBorn, " ", i.Born))
	}
	// A budget that was lowered in the middle of an epoch does not make its rounds foreign.
	if seen.Round > max(g.Limit, g.Round) && seen.Epoch == g.Epoch {
		return &ForeignValueError{Key: m.Slot, Field: "round", Value: fmt.Sprint(seen.Round)}
	}
	return nil
}

// check is for what only a death brings with it.
func (d Down) check(now int64) error {
	if d.ExitCode < math.MinInt32 || d.ExitCode > math.MaxInt32 || !isMoment(d.FailedAt, now) || !isMoment(d.DetectedAt, now) {
		return badArgument(d.Slot, fmt.Sprint(d.ExitCode, d.FailedAt, d.DetectedAt))
	}
	known := d.Kind == "" || d.Kind == KindExit || d.Kind == KindHang
	if !known || d.Signal < 0 || d.Signal > maxSignal || !isWord(d.Reason) {
		return badArgument(d.Slot, fmt.Sprint(d.Kind, " ", d.Signal, " ", d.Reason))
	}
	return nil
}

// maxSignal is the highest number that a signal has on Linux.
const maxSignal = 64

func badArgument(slot, value string) error {
	return &ForeignValueError{Key: slot, Field: "argument", Value: value}
}

// reply tells an instance the level, and its round; not that of another instance which the slot still stands for.
func (g *Group) reply(slot, id string) Reply {
	i := g.stage(slot)
	r := Reply{Level: g.Level, Round: NoRound, Step: g.Stages[i].Step, Stage: int64(i)}
	s := g.Slots[slot]
	if s != nil && s.ID == id && !s.Dead && s.Generation == g.Generation {
		r.Round = g.effective(i, s)
	}
	finished := s != nil && s.Finished && g.counted(i, s)
	r.Released = g.Phase == Completed || g.Counts[i].Left || (finished && !g.runsAgain(i, s))
	return r
}

// unheard is the reply to a report of an instance that is behind the slot's.
func (g *Group) unheard(slot, id string) Reply {
	r := g.reply(slot, id)
	if s := g.Slots[slot]; s.ID != id {
		r.Newest = s.Born
	}
	return r
}

// idOf is the instance that a slot stands for.
func idOf(s *Slot) string {
	if s == nil {
		return ""
	}
	return s.ID
}
