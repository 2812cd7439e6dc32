package coordination

import "fmt"

// admit checks who speaks. It returns the slot's record if it is of the same pod, and whether the pod is new in a slot
// that another pod held; that one is then fenced, so that a slot has a single holder.
func (g *Group) admit(m Member, i Instance, seen Seen) (slot *Slot, newPod bool, err error) {
	if err := g.check(m, i, seen); err != nil {
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
		return nil, false, ErrFenced
	}
	if seen.Epoch > g.Epoch {
		return nil, false, ErrNoGroup // an old copy of the data; the leader brings the epoch back
	}
	return held, held != nil && !holds, nil
}

func (g *Group) check(m Member, i Instance, seen Seen) error {
	if !g.has(m.Slot) {
		return fmt.Errorf("%w: %q", ErrUnknownSlot, m.Slot)
	}
	if seen.Round > g.Limit && seen.Epoch == g.Epoch {
		return &ForeignValueError{Key: m.Slot, Field: "round", Value: fmt.Sprint(seen.Round)}
	}
	for _, n := range []int64{m.PodBorn, i.Born, seen.Epoch, seen.Round + 1, seen.Instances} {
		if n < 0 || n > MaxCount {
			return &ForeignValueError{Key: m.Slot, Field: "argument", Value: fmt.Sprint(n)}
		}
	}
	return nil
}

func (g *Group) reply(slot string) Reply {
	r := Reply{Level: g.Level, Round: NoRound}
	if s := g.Slots[slot]; s != nil && !s.Dead && s.Generation == g.Generation {
		r.Round = s.Round
	}
	return r
}
