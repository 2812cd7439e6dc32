package simulation

import (
	"maps"
	"strconv"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// view is a stored group with its tables.
type view struct {
	group.Summary
	stored   *rounds.Stored
	joined   map[string]member // by slot, in this round
	finished map[string]string // ID of the finished instance by slot, in this round
	holders  map[string]string // UID of the pod by slot
}

// member is the join in a slot.
type member struct {
	id      string
	attempt int64
	ran     bool
}

// look reads a group, bypassing caches. It returns nil if there is no readable group.
func (s *server) look(uid string) *view {
	stored, err := s.functions.Read(uid)
	if err != nil || stored == nil {
		return nil
	}
	keys, l := rounds.KeysOf(uid), stored.State.Level
	v := &view{
		Summary: group.Summarize(stored), stored: stored, joined: map[string]member{}, finished: map[string]string{},
		holders: maps.Clone(s.functions.Hash(keys.Holders(l.Generation))),
	}
	for u := range stored.Config.Units {
		for slot, text := range s.functions.Hash(keys.Joined(l, u)) {
			v.joined[slot] = memberOf(text)
		}
		for slot, id := range s.functions.Hash(keys.Finished(l, u)) {
			v.finished[slot] = id
		}
	}
	return v
}

func memberOf(text string) member {
	f := strings.Fields(text)
	if len(f) != 3 {
		return member{id: text}
	}
	attempt, _ := strconv.ParseInt(f[1], 10, 64)
	return member{f[0], attempt, f[2] == "1"}
}

// givenTo returns the UID of the pod assigned to a slot, or "" if there is none.
func (v *view) givenTo(slot string) string {
	for _, given := range v.Given {
		if given.Name == slot {
			return given.Pod
		}
	}
	return ""
}

// hasEntered reports whether workers of a slot's unit have run in this generation.
func (v *view) hasEntered(slot string) bool {
	u, found := v.UnitOf(slot)
	return found && u < v.Level.Entered && !v.Units[u].Left
}

// isStarted reports whether a slot's unit is running in this round.
func (v *view) isStarted(slot string) bool {
	u, found := v.UnitOf(slot)
	return found && u < v.Level.Started && !v.Units[u].Left
}

// slots returns all slots of the group.
func (v *view) slots() []string {
	var slots []string
	for _, u := range v.Units {
		slots = append(slots, u.SlotNames()...)
	}
	return slots
}

// oneUnit reports whether all slots start together.
func (v *view) oneUnit() bool { return len(v.Units) == 1 }
