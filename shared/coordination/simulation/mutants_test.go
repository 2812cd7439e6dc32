package simulation

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/member"
)

// mutants are broken variants of the protocol. Each names the invariants of which one has to catch it.
var mutants = map[string]struct {
	caughtBy string
	Mutant
	on func() Shape // nil: all of them
}{
	"store: a repeated join counts as a new instance":  {"S2 S5", joinRepeats, nil},
	"store: a pod that lost its slot may come back":    {"S14 S9 S5 L1", joinUnfences, nil},
	"store: what agents remember is not believed":      {"S1 S5", Mutant{Join: joinForgets}, nil},
	"store: one missing worker is close enough":        {"S5", joinAlmostAll, nil},
	"store: a round of its own for every new instance": {"S6 S2 S5", joinOpensRounds, nil},
	"store: the level changes without a broadcast":     {"S1 L1", downSilently, nil},
	"store: no budget": {"S7", downWithoutBudget, poor},
	"store: a death in the round in progress is forgotten":   {"S6", downNeverDirty, nil},
	"store: a failure takes the round two further":           {"S6 S2", downTwice, nil},
	"store: every ordered death is a failure":                {"S2 S6", downBlamesOrders, nil},
	"store: dead workers stay counted":                       {"S5 L1", downKeepsCount, nil},
	"store: the next epoch keeps who is there":               {"S9 S5 L1", openKeepsSlots, nil},
	"store: a leader that was replaced may open":             {"S8", openForAnyone, leadership},
	"store: a leader that was replaced may evict":            {"S8", evictForAnyone, leadership},
	"store: an eviction strikes whoever holds the slot":      {"S2", evictAnybody, leadership},
	"store: a round that has ended can still be given up":    {"S2", recreateAlways, hasty},
	"agent: an order is carried out twice":                   {"S4", Mutant{Actions: stopTwice}, nil},
	"agent: a peer's worker is stopped":                      {"S3", Mutant{Actions: stopAnother}, nil},
	"agent: every broadcast is an order":                     {"S3", Mutant{Event: everyBroadcastOrders}, nil},
	"agent: the barrier is lifted before all have joined":    {"S13", Mutant{Event: liftsEarly}, execStorm},
	"agent: the worker is let run whatever its round":        {"S13", Mutant{Actions: liftsOldRound}, execStorm},
	"store: a step enters before all of it has joined":       {"S5", joinEntersEarly, orderedStart},
	"store: a step that forms is restarted with the others":  {"S5 S3 S6 L1 L2", downDragsSteps, orderedStart},
	"store: a finished worker that is held was never there":  {"S5 L1 S10", downForgetsFinished, execStorm},
	"store: an elder pod takes its slot back":                {"S14", joinUnfences, twins},
	"store: lost data are a failure of their own":            {"S12", joinHurts, func() Shape { return neutral(CRI) }},
	"store: groups go by the name of their JobSet":           {"S11", Mutant{ByName: true}, leadership},
	"leader: groups are not dropped":                         {"L1 L8", Mutant{Next: never(leader.Drop)}, poor},
	"controller: finished Jobs are cleaned up":               {"S10", Mutant{CleansUp: true}, finishing},
	"agent: orders are ignored":                              {"L2 L1", Mutant{Actions: drop[member.Stop]}, nil},
	"agent: a worker that hangs is left alone":               {"L1 L2", Mutant{Actions: sparesTheHung}, stuck},
	"agent: a worker that gets on is killed as if it hung":   {"S2", Mutant{Event: seesNoProgress}, hangs},
	"agent: deaths are not reported":                         {"L1", Mutant{Actions: drop[member.Down]}, nil},
	"agent: its file goes back":                              {"S1", Mutant{Actions: saveOld}, nil},
	"agent: reads of the store are not looked at":            {"L1", Mutant{Event: neverReads}, nil},
	"leader: restarts are not charged":                       {"S7 L1", Mutant{Next: never(leader.Charge)}, nil},
	"leader: every restart is charged twice":                 {"S7", Mutant{Next: chargesTwice}, nil},
	"leader: the budget has one more":                        {"S7 L1 L7", Mutant{Next: limitPlusOne}, poor},
	"leader: a recreation costs nothing":                     {"S7", Mutant{Next: failsOverForFree}, nil},
	"leader: a lost group is not opened again":               {"L1", Mutant{Next: neverReopens}, nil},
	"leader: a suspended group stays open":                   {"S7 S9 L1", Mutant{Next: neverCloses}, leadership},
	"leader: annotations are written without a precondition": {"S7 S9", Mutant{BlindWrites: true}, leadership},
	"leader: Jobs are deleted before the epoch is written":   {"S9", Mutant{DeleteFirst: true}, nil},
	"leader: a fail-over deletes the Jobs of any JobSet":     {"S9", Mutant{AnyOwner: true}, reborn},
	"controller: a suspend comes before its epoch":           {"S9", Mutant{SuspendFirst: true}, nil},
	"leader: a pod is replaced while it ends":                {"S15", Mutant{Hasty: true}, losses},
	"leader: a pod is replaced by what a stale cache says":   {"S15", Mutant{Blind: true}, losses},
}

func execStorm() Shape {
	return shape("exec", workers(Exec, 1, 3), append(everything(), chances(20, WorkerDies, PeersDie, WorkerFinishes)...), 6)
}

func orderedStart() Shape {
	s := shape("steps", steps(CRI), append(everything(), chances(20, WorkerDies, PeersDie)...), 6)
	s.Start = time.Second
	return s
}

func twins() Shape {
	s := shape("twins", workers(CRI, 1, 2), chances(1, PodDuplicated, WorkerDies), 4)
	s.Timeout = time.Hour // no epoch but the first
	return s
}

// losses: pods go, and leaders with them.
func losses() Shape {
	kinds := append(chances(8, PodDeleted, PodFails, PodForced), chances(6, LeaderPauses, StaleCache, LeaderCrashes, LeaderFuse)...)
	return shape("losses", workers(CRI, 1, 3), kinds, 12)
}

// reborn: fail-overs, and JobSets that are made anew while the leader looks at the one before.
func reborn() Shape {
	kinds := append(chances(8, WorkerDies, Recreated), chances(6, StaleCache, LeaderSlow, LeaderPauses)...)
	s := shape("reborn", workers(CRI, 1, 2), kinds, 8)
	s.Timeout = 1500 * time.Millisecond
	return s
}

func finishing() Shape {
	return shape("finishing", workers(Exec, 1, 2), chances(1, WorkerFinishes), 6)
}

const seedsForAMutant = 3000

// TestMutantsAreCaught shows that the checks can fail: for each reason that the rules are there.
func TestMutantsAreCaught(t *testing.T) {
	var mu sync.Mutex
	var table []string
	t.Run("each", func(t *testing.T) {
		for name, m := range mutants {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				seed, breach := hunt(m.Mutant, m.on)
				switch {
				case breach == nil:
					t.Fatalf("survived %d histories", seedsForAMutant)
				case !slices.Contains(strings.Fields(m.caughtBy), breach.Invariant):
					t.Errorf("caught by %v, not by %s", breach, m.caughtBy)
				}
				mu.Lock()
				defer mu.Unlock()
				table = append(table, fmt.Sprintf("%-60s %-4s in history %d", name, breach.Invariant, seed+1))
			})
		}
	})
	slices.Sort(table)
	t.Logf("%d mutants:\n%s", len(table), strings.Join(table, "\n"))
}

func hunt(m Mutant, on func() Shape) (uint64, *Breach) {
	shapes := Shapes()
	if on != nil {
		shapes = []Shape{on()}
	}
	for seed := range uint64(seedsForAMutant) {
		if b := Run(seed, shapes[seed%uint64(len(shapes))], m).Breach; b != nil {
			return seed, b
		}
	}
	return 0, nil
}

func sparesTheHung(actions []member.Action) []member.Action {
	return slices.DeleteFunc(actions, func(a member.Action) bool {
		s, isStop := a.(member.Stop)
		return isStop && s.Haste == member.Hung
	})
}

// seesNoProgress is a driver that has seen one sign, and no other.
func seesNoProgress(e member.Event) member.Event {
	if o, ok := e.(member.Observed); ok {
		for i := range o.Workers {
			o.Workers[i].Progress = min(1, o.Workers[i].Progress)
		}
	}
	return e
}

// lua is a mutant of the store's functions: in their source, each text that is given is replaced by the one behind it.
func lua(pairs ...string) Mutant {
	library := functions.Library
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(library, pairs[i]); n != 1 {
			panic(fmt.Sprintf("the library has %d of: %s", n, pairs[i]))
		}
		library = strings.Replace(library, pairs[i], pairs[i+1], 1)
	}
	return Mutant{Library: library}
}

var (
	joinRepeats     = lua("held.id == call.id and held.generation == self.gen\nend", "held.dead\nend")
	joinUnfences    = lua("if not holds and (older or fromEarlier) then", "if false then", "if self:isFenced(call.pod) then", "if false then")
	joinHurts       = lua("    self:see(i, call,", "    self:lazy('recovery').hurt = true\n    self:see(i, call,")
	joinAlmostAll   = lua("c.joined >= self:slotsOf(i)", "c.joined >= self:slotsOf(i) - 1")
	joinOpensRounds = lua("    return self:reply(call.slot, call.id)\n  end\n  self:settle(now)\n", `    return self:reply(call.slot, call.id)
  end
  self:settle(now)
  if self.phase == Restarting and self:joined() > 1 and self.round < self.limit then
    self.round, self.seq = self.round + 1, self.seq + 1
  end
`)
	joinEntersEarly = lua("        return\n      end\n      step.entered = self.round", "        if k == 1 then\n          return\n        end\n      end\n      step.entered = self.round")

	downSilently      = lua("  self:die(i, held, call, now)\n  self:settle(now)", "  local seq = self.seq\n  self:die(i, held, call, now)\n  self:settle(now)\n  self.seq = seq")
	downWithoutBudget = lua("if self.round + 1 > self.limit then", "if false then")
	downNeverDirty    = lua("elseif self.dirty.kind then", "elseif false then")
	downTwice         = lua("self.round = self.round + 1", "self.round = self.round + 2")
	downBlamesOrders  = lua("  checkDown(call, now)\n", `  checkDown(call, now)
  if call.ordered and self.phase == Restarting and self.round < self.limit then
    self.round, self.seq = self.round + 1, self.seq + 1
  end
`)
	downKeepsCount = lua("  checkDown(call, now)\n", `  checkDown(call, now)
  if self.phase == Restarting or self.phase == Forming then
    return self:reply(call.slot, call.id)
  end
`)
	downDragsSteps = lua("    self:nextRound()\n", `    self:nextRound()
    for _, step in ipairs(self.steps) do
      step.entered = math.max(step.entered, self.round - 1)
    end
`)
	downForgetsFinished = lua("    s.dead, s.finished = true, true\n    self:count(i, s, 1)\n", "    s.dead, s.finished = true, true\n    self:count(i, s, 1)\n    s.finished = false\n")

	openKeepsSlots = lua("    if s.pod ~= '' then\n      self:fence(s.pod)\n    end\n", "", "  self:forgetSlots()\n", "")
	openForAnyone  = lua("  self:lead(o.token)\n", "")
	evictForAnyone = lua("  self:lead(token)\n  local i = self:stage(slot)\n", "  local i = self:stage(slot)\n")
	evictAnybody   = lua("  local held = self:slot(slot)\n  if self.phase == Closed", "  local held = self:slot(slot)\n  pod = held and held.pod ~= '' and held.pod or pod\n  if self.phase == Closed")
	recreateAlways = lua("local stuck = self.phase == Restarting or", "local stuck = self.phase == Running or self.phase == Restarting or")
)

func joinForgets(j coordination.Join) coordination.Join {
	j.Seen = coordination.Unseen()
	return j
}

func stopTwice(actions []member.Action) []member.Action {
	for _, a := range actions {
		if stop, ok := a.(member.Stop); ok {
			return append(actions, stop)
		}
	}
	return actions
}

func stopAnother(actions []member.Action) []member.Action {
	for i, a := range actions {
		if stop, ok := a.(member.Stop); ok {
			stop.ID = strings.Replace(stop.ID, "pod", "other", 1)
			actions[i] = stop
		}
	}
	return actions
}

// everyBroadcastOrders lets an agent take each broadcast of a running group for the order to restart.
func everyBroadcastOrders(e member.Event) member.Event {
	told, ok := e.(member.Told)
	if ok && !told.Read && told.Level.Phase == coordination.Running {
		told.Level.Phase = coordination.Restarting
		told.Level.Round++
		return told
	}
	return e
}

// liftsEarly lets a supervisor take a group that restarts for one that runs.
func liftsEarly(e member.Event) member.Event {
	told, ok := e.(member.Told)
	if ok && told.Level.Phase == coordination.Restarting {
		told.Level.Phase = coordination.Running
		return told
	}
	return e
}

func liftsOldRound(actions []member.Action) []member.Action {
	for i, a := range actions {
		if lift, ok := a.(member.Lift); ok && lift.Round > 0 {
			lift.Round--
			actions[i] = lift
		}
	}
	return actions
}

func drop[T member.Action](actions []member.Action) []member.Action {
	return slices.DeleteFunc(actions, func(a member.Action) bool { _, is := a.(T); return is })
}

func saveOld(actions []member.Action) []member.Action {
	for i, a := range actions {
		if save, ok := a.(member.Save); ok && save.Round > 1 {
			save.Round = 0
			actions[i] = save
		}
	}
	return actions
}

func neverReads(e member.Event) member.Event {
	if told, ok := e.(member.Told); ok && told.Read {
		return member.Tick{}
	}
	return e
}

func never(k leader.Kind) func(leader.Input) leader.Step {
	return func(in leader.Input) leader.Step {
		if s := leader.Next(in); s.Kind != k || !in.Counted {
			return s
		}
		return leader.Step{}
	}
}

func chargesTwice(in leader.Input) leader.Step {
	s := leader.Next(in)
	if s.Kind == leader.Charge && in.Counted {
		s.Charged++
	}
	return s
}

func limitPlusOne(in leader.Input) leader.Step {
	in.Budget++
	return leader.Next(in)
}

func failsOverForFree(in leader.Input) leader.Step {
	s := leader.Next(in)
	if s.Kind == leader.FailOver {
		s.Charged--
		s.Epoch.Base--
	}
	return s
}

func neverReopens(in leader.Input) leader.Step {
	if s := leader.Next(in); s.Kind != leader.OpenGroup || in.Group != nil || !in.Counted {
		return s
	}
	return leader.Step{}
}

func neverCloses(in leader.Input) leader.Step {
	if in.Wanted != nil {
		wanted := *in.Wanted
		wanted.Suspended = false
		in.Wanted = &wanted
	}
	return leader.Next(in)
}
