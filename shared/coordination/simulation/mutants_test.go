package simulation

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// mutants are broken variants of the protocol. Each must be detected by one of the listed invariants.
var mutants = map[string]struct {
	caughtBy string
	Mutant
	on func() Shape // the shape to run; all shapes if nil
}{
	"store: a repeated join counts as a new instance":                   {"S2 S5 L1 L7", joinRepeats, nil},
	"store: any pod takes a slot":                                       {"S14", joinTakes, losses},
	"store: a pod that was released may join":                           {"S14", joinUnfences, losses},
	"store: a round starts with one worker missing":                     {"S5", joinAlmostAll, nil},
	"store: the level changes without a new sequence number":            {"S1 L1", neverCounts, nil},
	"store: no budget":                                                  {"S7", openWithoutBudget, poor},
	"store: a death in the round in progress is not recorded":           {"S6", dirtyForgets, nil},
	"store: a new pod may join peers that keep running":                 {"S6", startForgetsNew, execStorm},
	"store: a failure advances the round by two":                        {"S6 S2", openTwice, nil},
	"store: dead workers still count as joined":                         {"S2 S5 L1", diesCounted, nil},
	"store: a late report of a death opens one more round":              {"S2 S6", downLate, nil},
	"store: a replaced leader may write":                                {"S8", leadAnyone, leadership},
	"store: a release affects any holder of the slot":                   {"S2", releaseAnybody, leadership},
	"store: a released pod keeps its slot":                              {"L1", releaseKeeps, leadership},
	"store: steps restart one by one":                                   {"S13 S5 S2", advanceStepwise, orderedStart},
	"store: a finished worker is not recorded":                          {"S5 L1 S10", finishForgets, finishing},
	"store: data loss counts as a failure":                              {"S12", settleHurts, func() Shape { return neutral(CRI) }},
	"store: a lost round is not restored":                               {"L1", lostIgnored, nil},
	"store: the history does not name the slot that used up the budget": {"L9", openBlamesNobody, func() Shape { return endless(Exec) }},
	"store: a used-up budget counts as success":                         {"L9", openGoesOn, func() Shape { return endless(Exec) }},
	"store: a forged join is not validated":                             {"S16", againCompares, func() Shape { return forged(Exec) }},
	"store: the pod of a silent node cannot be released":                {"L9", releaseNobody, silentNodes},
	"store: a pod joins in a slot assigned to another pod":              {"S17", joinGiven, spareStorm},
	"store: a slot is assigned although another pod holds it":           {"S17", giveHeld, staleLosses},
	"agent: an assigned slot is ignored":                                {"L2", Mutant{Event: neverGiven}, func() Shape { return sparesIn(repairs(Exec), 1) }},
	"leader: a slot is assigned while its pod is terminating":           {"S17", Mutant{Observe: endedEarly}, spareLosses},
	"leader: the slot of a lost spare is not assigned again":            {"L2", Mutant{Plan: withoutHeirs}, func() Shape { return sparesIn(repairs(Exec), 1) }},
	"leader: spares are not annotated":                                  {"L1 S17", Mutant{Plan: without(byRule("given"))}, spareLosses},
	"leader: assigned slots are not restored after data loss":           {"L1 S17", Mutant{Plan: forgetsGiven}, spareStorm},
	"leader: fenced spares are not deleted":                             {"L1", Mutant{Plan: without(byRule("fences"))}, spareLosses},
	"leader: a new pod joins in a slot assigned to a spare":             {"S17", Mutant{Plan: neverWaits}, spareStorm},
	"leader: two slots are assigned to one spare":                       {"S17", Mutant{Plan: givesTwice, Library: giveTwice.Library}, spareLosses},
	"relay: members never leave their relay":                            {"L1 L2", Mutant{Loyal: true}, relayLosses},
	"relay: joins rejected by the store are confirmed":                  {"S14 S13 S5 L1 S17", Mutant{Replies: confirmsAll}, relayedSpares},
	"agent: an order is executed twice":                                 {"S4", Mutant{Actions: stopTwice}, nil},
	"agent: a peer's worker is stopped":                                 {"S3", Mutant{Actions: stopAnother}, nil},
	"agent: every broadcast is an order":                                {"S3", Mutant{Event: everyBroadcastOrders}, nil},
	"agent: workers are started before all have joined":                 {"S13", Mutant{Event: startsEarly}, execStorm},
	"agent: workers are started in another round":                       {"S13", Mutant{Actions: startsInOldRound}, execStorm},
	"agent: orders are ignored":                                         {"L2 L1", Mutant{Actions: drop[worker.Stop]}, nil},
	"agent: a hung worker is not killed":                                {"L1 L2", Mutant{Actions: sparesTheHung}, stuck},
	"agent: a worker that makes progress is killed as hung":             {"S2", Mutant{Event: seesNoProgress}, hangs},
	"agent: deaths are not reported":                                    {"L1", Mutant{Actions: dropsDeaths}, nil},
	"agent: the file is reset to an earlier round":                      {"S1", Mutant{Actions: saveOld}, nil},
	"agent: reads from the store are ignored":                           {"L1", Mutant{Event: neverReads}, nil},
	"leader: groups are not dropped":                                    {"L1 L8", Mutant{Plan: without(drops)}, poor},
	"leader: restarts are not charged":                                  {"S7 L1", Mutant{Plan: without(byRule("charge"))}, nil},
	"leader: every restart is charged twice":                            {"S7", Mutant{Plan: chargesTwice}, nil},
	"leader: the budget is one too high":                                {"S7 L1 L7", Mutant{Observe: budgetPlusOne}, poor},
	"leader: a recreation is not charged":                               {"S7", Mutant{Plan: recreatesForFree}, nil},
	"leader: a lost group is not opened again":                          {"L1", Mutant{Plan: without(reopens)}, nil},
	"leader: a suspended group stays open":                              {"S7 S9 L1", Mutant{Observe: neverSuspended}, leadership},
	"leader: annotations are written without a precondition":            {"S7 S9", Mutant{BlindWrites: true}, leadership},
	"leader: Jobs are deleted before the epoch is written":              {"S9", Mutant{DeleteFirst: true}, nil},
	"leader: a full recreation deletes the Jobs of any JobSet":          {"S9", Mutant{AnyOwner: true}, reborn},
	"leader: lost pods stay in their slots":                             {"L1", Mutant{Plan: without(releases("losses", "holders", "replacement"))}, losses},
	"leader: restarts are abandoned immediately":                        {"L2 L1", Mutant{Observe: noPatience}, nil},
	"leader: a restart never times out":                                 {"L9", Mutant{Plan: without(byRule("timeout"))}, func() Shape { return absent(CRI) }},
	"leader: forming never times out":                                   {"L9", Mutant{Observe: formsForever}, func() Shape { return absent(Exec) }},
	"leader: lost pods are left to their Jobs":                          {"L2", Mutant{Plan: without(byRule("replacement"))}, lostOften},
	"leader: stuck pods are left in place":                              {"L2", Mutant{Plan: without(byRule("repair"))}, func() Shape { return repairs(CRI) }},
	"leader: fenced pods are left in place":                             {"L2", Mutant{Plan: without(byRule("fences"))}, func() Shape { return repairs(CRI) }},
	"leader: an abandoned restart names no worker":                      {"L9", Mutant{Plan: namesNobody}, func() Shape { return absent(CRI) }},
	"leader: the mark of a restart is not removed":                      {"L1 L7", Mutant{Plan: keepsMark}, nil},
	"leader: the condition is not written":                              {"L1 L7", Mutant{Plan: without(byRule("conditions"))}, nil},
	"leader: a pod is replaced while it is terminating":                 {"S15", Mutant{Hasty: true}, losses},
	"leader: a pod is replaced based on a stale cache":                  {"S15", Mutant{Blind: true}, losses},
	"controller: finished Jobs are deleted":                             {"S10", Mutant{CleansUp: true}, finishing},
	"controller: Jobs are suspended before the epoch is written":        {"S9", Mutant{SuspendFirst: true}, nil},
}

func execStorm() Shape {
	return shape("exec", workers(Exec, 1, 3), append(everything(), chances(20, WorkerDies, PeersDie, WorkerFinishes)...), 6)
}

func orderedStart() Shape {
	s := shape("steps", steps(CRI), append(everything(), chances(20, WorkerDies, PeersDie)...), 6)
	s.Start = time.Second
	return s
}

// losses returns a shape with lost pods and lost leaders.
func losses() Shape {
	kinds := append(chances(8, PodDeleted, PodFails, PodForced), chances(6, LeaderPauses, StaleCache, LeaderCrashes, LeaderFuse)...)
	return shape("losses", workers(CRI, 1, 3), kinds, 12)
}

// lostOften loses pods one after another, so that their Job's back-off becomes longer than the restart timeout (L2).
func lostOften() Shape {
	s := repairs(CRI)
	s.Faults, s.Most, s.Timeout = chances(1, PodDeleted), 12, time.Minute
	return s
}

// reborn returns a shape with full recreations, and with JobSets that are recreated while the leader is handling the
// previous one.
func reborn() Shape {
	kinds := append(chances(8, WorkerDies, Recreated), chances(6, StaleCache, LeaderSlow, LeaderPauses)...)
	s := shape("reborn", workers(CRI, 1, 2), kinds, 8)
	s.Timeout = 1500 * time.Millisecond
	return s
}

// silentNodes returns a shape whose only faults are nodes that become permanently unreachable.
func silentNodes() Shape {
	return shape("silent nodes", workers(Exec, 1, 3), chances(1, NodeSilent), 2)
}

// spareLosses returns a shape with spares and the faults in lossKinds.
func spareLosses() Shape { return withSpares("losses", workers(Exec, 1, 3), 2, lossKinds(), 8) }

// staleLosses returns a shape with lost pods and with leaders that observe the losses late.
func staleLosses() Shape {
	return withSpares("stale", workers(Exec, 1, 3), 2, chances(1, PodDeleted, PodFails, JobRecreated, StaleCache, LeaderPauses, LeaderSlow), 8)
}

// spareStorm returns a shape with pods that are lost while the store is partitioned or loses its data.
func spareStorm() Shape {
	kinds := chances(1, PodDeleted, PodFails, StoreWiped, StoreBack, ReplicaBehind, TwoPrimaries, LeaderCrashes)
	return withSpares("storm", workers(Exec, 1, 3), 1, kinds, 6)
}

func finishing() Shape {
	return shape("finishing", workers(Exec, 1, 2), chances(1, WorkerFinishes), 6)
}

const seedsForAMutant = 3000

// Each mutant is detected, which shows that the checks work.
func TestMutantsAreDetected(t *testing.T) {
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
					t.Errorf("detected by %v, want %s", breach, m.caughtBy)
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

func sparesTheHung(actions []worker.Action) []worker.Action {
	return slices.DeleteFunc(actions, func(a worker.Action) bool {
		s, isStop := a.(worker.Stop)
		return isStop && s.Haste == worker.Hung
	})
}

// seesNoProgress simulates a driver that sees only the first sign of progress.
func seesNoProgress(e worker.Event) worker.Event {
	if o, ok := e.(worker.Observed); ok {
		for i := range o.Processes {
			o.Processes[i].Progress = min(1, o.Processes[i].Progress)
		}
	}
	return e
}

// neverGiven hides from an agent that it was assigned a slot.
func neverGiven(e worker.Event) worker.Event {
	if u, ok := e.(worker.Updated); ok && u.Place != nil {
		p := *u.Place
		p.Given = ""
		u.Place = &p
		return u
	}
	return e
}

// endedEarly makes a leader mistake terminating pods for pods that have ended.
func endedEarly(o *leader.Observation) {
	for _, pod := range o.Pods {
		if pod.Deleting {
			pod.Phase = workload.Failed
		}
	}
}

// heirs changes which pods are assigned the slots that a plan releases.
func heirs(p leader.Plan, change func(leader.Release) leader.Release) leader.Plan {
	for i := range p.Actions {
		if a, is := p.Actions[i].(leader.Release); is && a.Heir != (rounds.Slot{}) {
			p.Actions[i] = change(a)
		}
	}
	return p
}

// withoutHeirs never assigns a slot to a second spare.
func withoutHeirs(o *leader.Observation, p leader.Plan) leader.Plan {
	return heirs(p, func(a leader.Release) leader.Release {
		if slices.ContainsFunc(o.Stored.Config.Given, func(s rounds.Seat) bool { return s.Name == a.Name }) {
			a.Heir = rounds.Slot{}
		}
		return a
	})
}

// forgetsGiven does not restore assigned slots in a store that has lost its data.
func forgetsGiven(_ *leader.Observation, p leader.Plan) leader.Plan {
	if p.Rule == "given" {
		p.Actions = slices.DeleteFunc(p.Actions, func(a leader.Action) bool { _, is := a.(leader.Release); return is })
	}
	for i := range p.Actions {
		if w, is := p.Actions[i].(leader.WriteGroup); is {
			w.Config.Given = nil
			p.Actions[i] = w
		}
	}
	return p
}

func neverWaits(_ *leader.Observation, p leader.Plan) leader.Plan {
	for i := range p.Actions {
		if a, is := p.Actions[i].(leader.CreatePod); is {
			a.Waits = false
			p.Actions[i] = a
		}
	}
	return p
}

// givesTwice assigns each slot to the first pod that was assigned one. It is used with a store that accepts that.
func givesTwice(o *leader.Observation, p leader.Plan) leader.Plan {
	return heirs(p, func(a leader.Release) leader.Release {
		if given := o.Stored.Config.Given; len(given) > 0 {
			a.Heir.Pod = given[0].Pod
		}
		return a
	})
}

var giveTwice = lua(" and (g[5] or slot) == slot", "")

// lua returns a mutant of the store's functions. In their source, the first text of each pair is replaced with the second.
func lua(pairs ...string) Mutant {
	library := rounds.Library
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(library, pairs[i]); n != 1 {
			panic(fmt.Sprintf("the library has %d of: %s", n, pairs[i]))
		}
		library = strings.Replace(library, pairs[i], pairs[i+1], 1)
	}
	return Mutant{Library: library}
}

var (
	joinRepeats   = lua("if id == a[i + 2] then\n    return 'J'\n  elseif", "if")
	joinTakes     = lua("elseif (holder or a[i + 1]) ~= a[i + 1] or (g[f + 1] or a[i + 1]) ~= a[i + 1] or (g[f + 2] or a[i]) ~= a[i] then", "elseif false then")
	joinUnfences  = lua("if g[f] or", "if")
	joinAlmostAll = lua("< tonumber(unit[1]) then break", "< tonumber(unit[1]) - 1 then break")
	settleHurts   = lua("if string.find(past, 'r') then mark(s, u, RAN) end", "if string.find(past, 'r') then mark(s, u, DIED) end")

	neverCounts       = lua("s.seq = s.seq + 1", "s.seq = s.seq")
	openWithoutBudget = lua("if s.round >= s.limit then\n    s.phase", "if false then\n    s.phase")
	openBlamesNobody  = lua("or s.finished == '1', cause)", "or s.finished == '1', '-')")
	openGoesOn        = lua("s.phase = 'B'", "s.phase = 'D'")
	openTwice         = lua("begin(s, s.round + 1)", "begin(s, s.round + 2)")
	startForgetsNew   = lua("if died or (ran and new) then", "if died then")
	advanceStepwise   = lua("if edge > s.started and edge >= s.entered then", "if edge > s.started then")
	dirtyForgets      = lua("  mark(s, u, DIED)\nend", "end")
	diesCounted       = lua("  redis.call('HDEL', tableOf(s, 'j:', u), slot)\n", "")

	downLate       = lua("  if elsewhere then return '-' end", "")
	lostIgnored    = lua("  begin(s, tonumber(a[5]))\n", "")
	finishForgets  = lua("local new = redis.call('HSET', tableOf(s, 'f:', u), a[3], a[5]) == 1", "local new = false")
	leadAnyone     = lua("then fail('HFSTALELEADER') end", "then return end")
	releaseAnybody = lua("  if holder == pod then\n    redis.call", "  if true then\n    redis.call")
	joinGiven      = lua(" or (g[f + 1] or a[i + 1]) ~= a[i + 1]", "")
	giveHeld       = lua("local free = (holder or heir) == heir and", "local free =")
	againCompares  = lua("tonumber(attempt or fail('HFFOREIGN'))", "tonumber(attempt)")
	releaseNobody  = lua("  lead(base, a[5])\n", "  fail('HFSTALELEADER')\n")
	releaseKeeps   = lua("  if holder == pod then\n    redis.call('HDEL', holders, slot)\n", "  if holder == pod then\n")
)

func stopTwice(actions []worker.Action) []worker.Action {
	for _, a := range actions {
		if stop, ok := a.(worker.Stop); ok {
			return append(actions, stop)
		}
	}
	return actions
}

func stopAnother(actions []worker.Action) []worker.Action {
	for i, a := range actions {
		if stop, ok := a.(worker.Stop); ok {
			stop.ID = strings.Replace(stop.ID, "pod", "other", 1)
			actions[i] = stop
		}
	}
	return actions
}

// everyBroadcastOrders makes an agent treat each broadcast of a running group as an order to restart.
func everyBroadcastOrders(e worker.Event) worker.Event {
	told, ok := e.(worker.Updated)
	if ok && !told.Read && told.Level.Running() {
		told.Level.Round++
		told.Level.Started = 0
		return told
	}
	return e
}

// startsEarly makes a supervisor treat a restarting group as a running one.
func startsEarly(e worker.Event) worker.Event {
	told, ok := e.(worker.Updated)
	if ok && told.Level.Restarting() {
		told.Level.Started = told.Level.Entered
		return told
	}
	return e
}

func startsInOldRound(actions []worker.Action) []worker.Action {
	for i, a := range actions {
		if start, ok := a.(worker.Start); ok && start.Round > 0 {
			start.Round--
			actions[i] = start
		}
	}
	return actions
}

// dropsDeaths reports only finished workers.
func dropsDeaths(actions []worker.Action) []worker.Action {
	return slices.DeleteFunc(actions, func(a worker.Action) bool {
		c, is := a.(worker.Call)
		return is && c.Function == rounds.FunctionDown
	})
}

func drop[T worker.Action](actions []worker.Action) []worker.Action {
	return slices.DeleteFunc(actions, func(a worker.Action) bool { _, is := a.(T); return is })
}

func saveOld(actions []worker.Action) []worker.Action {
	for i, a := range actions {
		if save, ok := a.(worker.Save); ok && save.Highest > 1 {
			save.Highest = 0
			actions[i] = save
		}
	}
	return actions
}

func neverReads(e worker.Event) worker.Event {
	if told, ok := e.(worker.Updated); ok && told.Read {
		return worker.Tick{}
	}
	return e
}

// without omits the selected actions after the group has been opened.
func without(which func(*leader.Observation, string, leader.Action) bool) func(*leader.Observation, leader.Plan) leader.Plan {
	return func(o *leader.Observation, p leader.Plan) leader.Plan {
		if o.Owner.Counted {
			p.Actions = slices.DeleteFunc(p.Actions, func(a leader.Action) bool { return which(o, p.Rule, a) })
		}
		return p
	}
}

func drops(_ *leader.Observation, _ string, a leader.Action) bool {
	_, is := a.(leader.DropGroup)
	return is
}

func byRule(name string) func(*leader.Observation, string, leader.Action) bool {
	return func(_ *leader.Observation, rule string, _ leader.Action) bool { return rule == name }
}

func reopens(o *leader.Observation, rule string, _ leader.Action) bool {
	return rule == "group" && o.Stored == nil
}

func releases(rules ...string) func(*leader.Observation, string, leader.Action) bool {
	return func(_ *leader.Observation, rule string, a leader.Action) bool {
		_, is := a.(leader.Release)
		return is && slices.Contains(rules, rule)
	}
}

// annotations changes the annotations that a plan writes.
func annotations(p leader.Plan, change func(*leader.Annotate)) leader.Plan {
	for i := range p.Actions {
		if a, is := p.Actions[i].(leader.Annotate); is {
			change(&a)
			p.Actions[i] = a
		}
	}
	return p
}

func keepsMark(_ *leader.Observation, p leader.Plan) leader.Plan {
	return annotations(p, func(a *leader.Annotate) { a.ClearRecovering = false })
}

func chargesTwice(o *leader.Observation, p leader.Plan) leader.Plan {
	return annotations(p, func(a *leader.Annotate) {
		if p.Rule == "charge" && o.Owner.Counted {
			more := *a.Charged + 1
			a.Charged = &more
		}
	})
}

func recreatesForFree(_ *leader.Observation, p leader.Plan) leader.Plan {
	return annotations(p, func(a *leader.Annotate) {
		if p.Rule == "recreation" && a.Epoch != nil {
			free, less := *a.Epoch, *a.Charged-1
			free.Base--
			a.Epoch, a.Charged = &free, &less
		}
	})
}

func budgetPlusOne(o *leader.Observation) { o.Owner.Budget++ }

func formsForever(o *leader.Observation) { o.Owner.FormingTimeout = 1000 * time.Hour }

func namesNobody(_ *leader.Observation, p leader.Plan) leader.Plan {
	for i := range p.Events {
		p.Events[i].Note, _, _ = strings.Cut(p.Events[i].Note, ": ")
	}
	return p
}

func noPatience(o *leader.Observation) { o.Owner.Timeout = time.Millisecond }

func neverSuspended(o *leader.Observation) {
	if o.Owner.Wanted != nil {
		o.Owner.Wanted.Suspended = false
	}
}
