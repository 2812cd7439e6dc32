package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/member"
)

// mutants are broken variants of the protocol. Each names the invariants of which one has to catch it.
var mutants = map[string]struct {
	caughtBy string
	Mutant
	on func() Shape // nil: all of them
}{
	"store: a repeated join counts as a new instance":  {"S2 S5", Mutant{Join: joinRepeats}, nil},
	"store: a pod that lost its slot may come back":    {"S14 S9 S5 L1", Mutant{Join: joinUnfences}, nil},
	"store: what agents remember is not believed":      {"S1 S5", Mutant{Join: joinForgets}, nil},
	"store: one missing worker is close enough":        {"S5", Mutant{Join: joinAlmostAll}, nil},
	"store: a round of its own for every new instance": {"S6 S2 S5", Mutant{Join: joinOpensRounds}, nil},
	"store: the level changes without a broadcast":     {"S1 L1", Mutant{Down: downSilently}, nil},
	"store: no budget": {"S7", Mutant{Down: downWithoutBudget}, poor},
	"store: a death in the round in progress is forgotten":   {"S6", Mutant{Down: downNeverDirty}, nil},
	"store: a failure takes the round two further":           {"S6 S2", Mutant{Down: downTwice}, nil},
	"store: every ordered death is a failure":                {"S2 S6", Mutant{Down: downBlamesOrders}, nil},
	"store: dead workers stay counted":                       {"S5 L1", Mutant{Down: downKeepsCount}, nil},
	"store: the next epoch keeps who is there":               {"S9 S5 L1", Mutant{Open: openKeepsSlots}, nil},
	"store: a leader that was replaced may open":             {"S8", Mutant{Open: openForAnyone}, leadership},
	"store: a leader that was replaced may evict":            {"S8", Mutant{Evict: evictForAnyone}, leadership},
	"store: an eviction strikes whoever holds the slot":      {"S2", Mutant{Evict: evictAnybody}, leadership},
	"store: a round that has ended can still be given up":    {"S2", Mutant{Recreate: recreateAlways}, hasty},
	"agent: an order is carried out twice":                   {"S4", Mutant{Actions: stopTwice}, nil},
	"agent: a peer's worker is stopped":                      {"S3", Mutant{Actions: stopAnother}, nil},
	"agent: every broadcast is an order":                     {"S3", Mutant{Event: everyBroadcastOrders}, nil},
	"agent: the barrier is lifted before all have joined":    {"S13", Mutant{Event: liftsEarly}, execStorm},
	"agent: the worker is let run whatever its round":        {"S13", Mutant{Actions: liftsOldRound}, execStorm},
	"store: a step enters before all of it has joined":       {"S5", Mutant{Join: joinEntersEarly}, orderedStart},
	"store: a step that forms is restarted with the others":  {"S5 S3 S6 L1 L2", Mutant{Down: downDragsSteps}, orderedStart},
	"store: a finished worker that is held was never there":  {"S5 L1 S10", Mutant{Down: downForgetsFinished}, execStorm},
	"store: an elder pod takes its slot back":                {"S14", Mutant{Join: joinUnfences}, twins},
	"store: lost data are a failure of their own":            {"S12", Mutant{Join: joinHurts}, func() Shape { return neutral(CRI) }},
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

type group = coordination.Group

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

func joinRepeats(g *group, j coordination.Join, now int64) (coordination.Reply, error) {
	if held := g.Slots[j.Slot]; held != nil && held.ID == j.ID && !held.Dead {
		held.ID = "somebody else"
	}
	return g.Join(j, now)
}

func joinUnfences(g *group, j coordination.Join, now int64) (coordination.Reply, error) {
	delete(g.Fenced, j.Pod)
	if held := g.Slots[j.Slot]; held != nil && held.Pod != j.Pod {
		j.PodBorn = held.PodBorn + 1
	}
	j.Seen = coordination.Unseen()
	return g.Join(j, now)
}

// joinHurts takes every recovery for one in which somebody died.
func joinHurts(g *group, j coordination.Join, now int64) (coordination.Reply, error) {
	if g.Phase == coordination.Recovering {
		g.Recovery.Hurt = true
	}
	return g.Join(j, now)
}

func joinForgets(g *group, j coordination.Join, now int64) (coordination.Reply, error) {
	j.Seen = coordination.Unseen()
	return g.Join(j, now)
}

func joinAlmostAll(g *group, j coordination.Join, now int64) (coordination.Reply, error) {
	r, err := g.Join(j, now)
	if g.Phase == coordination.Restarting && g.Joined() == g.Size()-1 {
		g.Phase = coordination.Running
		g.Seq++
		r.Level = g.Level
	}
	return r, err
}

func joinOpensRounds(g *group, j coordination.Join, now int64) (coordination.Reply, error) {
	before := g.Round
	r, err := g.Join(j, now)
	if g.Phase == coordination.Restarting && g.Round == before && g.Joined() > 1 && g.Round < g.Limit {
		g.Round++
		g.Seq++
		r.Level = g.Level
	}
	return r, err
}

func joinEntersEarly(g *group, j coordination.Join, now int64) (coordination.Reply, error) {
	r, err := g.Join(j, now)
	if last := &g.Steps[len(g.Steps)-1]; g.Phase == coordination.Running && last.Entered == coordination.NoRound && g.Joined() == g.Size() {
		g.Phase = coordination.Restarting // so that entering Running shows
		last.Entered = g.Round
		g.Level.Steps = strings.ReplaceAll(g.Level.Steps, "-", strconv.FormatInt(g.Round, 10))
		g.Phase = coordination.Running
		g.Seq++
		r.Level = g.Level
	}
	return r, err
}

// downDragsSteps lets a step that forms enter with the next round.
func downDragsSteps(g *group, d coordination.Down, now int64) (coordination.Reply, error) {
	before := g.Round
	r, err := g.Down(d, now)
	if g.Round > before {
		for i := range g.Steps {
			g.Steps[i].Entered = max(g.Steps[i].Entered, before)
		}
		g.Level.Steps = strings.ReplaceAll(g.Level.Steps, "-", strconv.FormatInt(before, 10))
		r.Level = g.Level
	}
	return r, err
}

func downForgetsFinished(g *group, d coordination.Down, now int64) (coordination.Reply, error) {
	r, err := g.Down(d, now)
	if s := g.Slots[d.Slot]; s != nil && s.Finished && s.ID == d.ID {
		s.Finished = false
	}
	return r, err
}

func downSilently(g *group, d coordination.Down, now int64) (coordination.Reply, error) {
	seq := g.Seq
	r, err := g.Down(d, now)
	g.Seq = seq
	return r, err
}

func downWithoutBudget(g *group, d coordination.Down, now int64) (coordination.Reply, error) {
	limit := g.Limit
	g.Limit = 1 << 40
	r, err := g.Down(d, now)
	g.Limit = limit
	return r, err
}

func downNeverDirty(g *group, d coordination.Down, now int64) (coordination.Reply, error) {
	r, err := g.Down(d, now)
	g.Dirty = false
	for i := range g.Steps {
		g.Steps[i].Dirty = coordination.Failure{}
	}
	return r, err
}

func downTwice(g *group, d coordination.Down, now int64) (coordination.Reply, error) {
	before := g.Round
	r, err := g.Down(d, now)
	if g.Round > before && g.Round < g.Limit {
		g.Round++
		g.Seq++
		r.Level = g.Level
	}
	return r, err
}

func downBlamesOrders(g *group, d coordination.Down, now int64) (coordination.Reply, error) {
	if d.Ordered && g.Phase == coordination.Restarting && g.Round < g.Limit {
		g.Round++
		g.Seq++
	}
	return g.Down(d, now)
}

func downKeepsCount(g *group, d coordination.Down, now int64) (coordination.Reply, error) {
	if g.Phase == coordination.Restarting || g.Phase == coordination.Forming {
		return coordination.Reply{Level: g.Level, Round: coordination.NoRound}, nil
	}
	return g.Down(d, now)
}

func openKeepsSlots(g *group, o coordination.Open, now int64) error {
	slots := g.Slots
	err := g.Open(o, now)
	if len(g.Slots) == 0 {
		g.Slots = slots
		clear(g.Fenced)
	}
	return err
}

func openForAnyone(g *group, o coordination.Open, now int64) error {
	if o.Token.Less(g.Token) {
		g.Token = o.Token
	}
	return g.Open(o, now)
}

func evictForAnyone(g *group, t coordination.Token, slot, pod string, now int64) error {
	if t.Less(g.Token) {
		g.Token = t
	}
	return g.Evict(t, slot, pod, now)
}

func evictAnybody(g *group, t coordination.Token, slot, pod string, now int64) error {
	if held := g.Slots[slot]; held != nil && held.Pod != "" {
		pod = held.Pod
	}
	return g.Evict(t, slot, pod, now)
}

func recreateAlways(g *group, t coordination.Token, epoch, round int64, kind string) error {
	if g.Phase == coordination.Running {
		g.Phase = coordination.Recreating
		g.Seq++
	}
	return g.Recreate(t, epoch, round, kind)
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
