package group

import (
	"cmp"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Summary is the state of a group as used by conditions, events and the leader's other rules.
type Summary struct {
	Level      rounds.Level
	Phase      coordination.Phase
	Generation int64
	Round      int64
	Size       int64 // slots that must be in sync: those of the entered units or, before any unit has entered, those of the first step
	Joined     int64 // how many of these slots have joined
	Done       int64 // finished slots of all units
	Limit      int64
	Died       bool // a worker died while the group was waiting for joins, and its peers may hang, so another round follows
	Runs       bool // a joined worker was already running in this round, which means that the store has lost data
	Stages     []coordination.Stage
	Units      []Unit
	Fenced     []string            // UIDs of pods
	Given      []rounds.Seat       // slots assigned to pods, sorted by slot name
	Record     coordination.Record // record of the restart in progress or, if there is none, of the last one
}

// Unit is a set of stages that start and leave together.
type Unit struct {
	Step          int64
	Slots, Joined int64 // zero if the unit has left
	Done          int64 // slots whose workers have finished
	Entered, Left bool
	Stages        []coordination.Stage
}

// Summarize returns the summary of a stored group.
func Summarize(s *rounds.Stored) Summary {
	level := s.State.Level
	g := Summary{
		Level: level, Phase: PhaseOf(level), Generation: level.Generation, Round: level.Round, Limit: s.Config.Limit, Died: s.State.Died(),
		Runs:   s.State.Runs(),
		Fenced: s.Config.Fenced, Given: s.Config.Given, Record: recordOf(s),
	}
	for u, unit := range s.Config.Units {
		g.Units = append(g.Units, Unit{
			Slots: unit.Slots, Joined: min(s.Joined[u], unit.Slots), Done: s.Finished[u], Entered: u < level.Entered, Left: level.Left.Has(u),
		})
		g.Done += s.Finished[u]
	}
	for _, b := range s.Config.Stages {
		g.Stages = append(g.Stages, b.Stage)
		g.Units[b.Unit].Step = b.Step
		g.Units[b.Unit].Stages = append(g.Units[b.Unit].Stages, b.Stage)
	}
	for u := range g.Waited() {
		g.Size += g.Units[u].Slots
		g.Joined += g.Units[u].Joined
	}
	return g
}

// Waited returns how many units, counted from the first, must be in sync: the entered units or, before any unit has entered,
// those of the first step.
func (g Summary) Waited() int {
	if g.Level.Entered > 0 {
		return min(g.Level.Entered, len(g.Units))
	}
	n := 0
	for n < len(g.Units) && g.Units[n].Step == g.Units[0].Step {
		n++
	}
	return n
}

// UnitOf returns a slot's unit, and whether the group has the slot.
func (g Summary) UnitOf(slot string) (int, bool) {
	for u, unit := range g.Units {
		if slices.ContainsFunc(unit.Stages, func(s coordination.Stage) bool { return s.Has(slot) }) {
			return u, true
		}
	}
	return 0, false
}

// IsFenced reports whether a pod was released from its slot, which means that the store rejects all its reports.
func (g Summary) IsFenced(pod string) bool { return slices.Contains(g.Fenced, pod) }

// HasEntered reports whether workers of a stage have run in this generation.
func (g Summary) HasEntered(stage coordination.Stage) bool {
	return g.isIn(stage, func(u Unit) bool { return u.Entered && !u.Left })
}

// HasLeft reports whether a stage has finished and left the group.
func (g Summary) HasLeft(stage coordination.Stage) bool {
	return g.isIn(stage, func(u Unit) bool { return u.Left })
}

func (g Summary) isIn(stage coordination.Stage, which func(Unit) bool) bool {
	return slices.ContainsFunc(g.Units, func(u Unit) bool { return which(u) && slices.Contains(u.Stages, stage) })
}

// SlotNames returns the names of all slots in a unit.
func (u Unit) SlotNames() []string {
	var names []string
	for _, stage := range u.Stages {
		for job := range stage.Jobs {
			for pod := range stage.Pods {
				names = append(names, stage.Slot(job, pod))
			}
		}
	}
	return names
}

// Missing returns the slots in a unit that have not joined. The keys of joined are the slots that have.
func (u Unit) Missing(joined map[string]string) []string {
	return slices.DeleteFunc(u.SlotNames(), func(slot string) bool { return joined[slot] != "" })
}

// PhaseOf returns the phase as named in conditions and metrics.
func PhaseOf(l rounds.Level) coordination.Phase {
	switch {
	case l.Phase == rounds.OverBudget:
		return coordination.Terminal
	case l.Phase == rounds.Recreate:
		return coordination.Recreating
	case l.Phase == rounds.Closed:
		return coordination.Closed
	case l.Phase == rounds.Done:
		return coordination.Completed
	case l.Forming():
		return coordination.Forming
	case l.Running():
		return coordination.Running
	}
	return coordination.Restarting
}

// recordOf returns the record for the restart in progress. If a failure has ended in-place restarts, it returns the record for
// that failure.
func recordOf(s *rounds.Stored) coordination.Record {
	level := s.State.Level
	r := coordination.Record{Generation: level.Generation, Round: level.Round, InSyncAt: runsAt(s.State)}
	ended := level.Phase == rounds.OverBudget || level.Phase == rounds.Recreate
	for _, line := range s.Lines {
		current := line.Round == level.Round && !line.Ends
		last := line.Round == level.Round+1 && line.Ends && ended
		if line.Generation == level.Generation && (current || last) {
			r.Failure, r.ReportedAt = line.Failure(), rounds.Milliseconds(line.OpenedAt)
		}
	}
	return r
}

// Records builds the records of the last rounds, oldest first, from the history lines and the state.
func Records(s *rounds.Stored, lines []rounds.Line) []coordination.Record {
	lines = slices.Clone(lines)
	slices.SortFunc(lines, func(a, b rounds.Line) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Round, b.Round))
	})
	var list []coordination.Record
	for i, line := range lines {
		r := coordination.Record{Generation: line.Generation, Round: line.Round, Failure: line.Failure(), Ends: line.Ends, ReportedAt: rounds.Milliseconds(line.OpenedAt)}
		switch {
		case line.Ends:
		case s != nil && line.Generation == s.State.Generation && line.Round == s.State.Round:
			r.InSyncAt = runsAt(s.State)
		case i+1 < len(lines) && lines[i+1].Generation == line.Generation && lines[i+1].Round == line.Round+1:
			r.InSyncAt = min(rounds.Milliseconds(lines[i+1].StartedBefore), rounds.Milliseconds(lines[i+1].OpenedAt))
		}
		list = append(list, r)
	}
	return list
}

// runsAt returns when the round's workers start running, which is at the end of the round's pause.
func runsAt(s rounds.State) int64 {
	if s.StartedAt.IsZero() {
		return 0
	}
	return rounds.Milliseconds(s.StartedAt.Add(s.Pause))
}
