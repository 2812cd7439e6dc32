package orchestrator

import (
	"errors"
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// The tests simulate agents through the store's functions. Their pods have no barrier, so the program of an instance is
// already running when the instance joins. The tests keep the state of each pod's agent, and call the store only when
// an agent would.

// slotOf returns a slot together with its pod in the given generation. The pod's UID is derived from both.
func slotOf(slot string, generation int64) rounds.Slot {
	return rounds.Slot{Name: slot, Pod: slot + "/" + epoch.FormatNumber(int32(generation))}
}

// instanceID returns the ID of the n-th instance of a pod.
func instanceID(s rounds.Slot, life int64) string { return fmt.Sprintf("%s/%d", s.Pod, life) }

// agent returns the state of a pod's agent.
func (g *rig) agent(s rounds.Slot, generation int64) *worker.Memory {
	if g.agents == nil {
		g.agents = map[rounds.Slot]*worker.Memory{}
	}
	if g.agents[s] == nil {
		memory := worker.Fresh()
		memory.Generation = generation
		g.agents[s] = &memory
	}
	return g.agents[s]
}

// at returns the group's level and a slot's unit. active is false if an agent of this generation has nothing to report.
func (g *rig) at(s rounds.Slot, generation int64) (level rounds.Level, unit int, active bool) {
	g.Helper()
	stored, err := g.store.Read(g.ctx, uid)
	if err != nil || stored == nil {
		return level, 0, false
	}
	place, err := g.store.Place(g.ctx, uid, s)
	if errors.Is(err, coordination.ErrUnknownSlot) {
		return level, 0, false
	}
	g.must(err)
	level = stored.State.Level
	g.heard(level)
	return level, place.Unit, level.Phase == rounds.Active && level.Generation == generation
}

// heard updates the state of all agents as if they had received the level.
func (g *rig) heard(level rounds.Level) {
	g.Helper()
	for s, a := range g.agents {
		if a.Generation != level.Generation {
			continue
		}
		if a.EnteredIn != level.Incarnation {
			a.EnteredIn, a.Entered = level.Incarnation, 0
		}
		a.Highest, a.Entered = max(a.Highest, level.Round), max(a.Entered, level.Entered)
		place, err := g.store.Place(g.ctx, uid, s)
		if err == nil && a.Instance.Round == level.Round && level.Started > place.Unit {
			a.Instance.Saw, a.Ran = true, true
		}
	}
}

// entered returns how many units, starting with the first, have run as far as the agent knows.
func entered(a *worker.Memory, unit int) int {
	if a.Ran {
		return max(a.Entered, unit+1)
	}
	return a.Entered
}

func (g *rig) call(c rounds.Call) string {
	g.Helper()
	reply, level, err := g.store.Call(g.ctx, uid, c)
	g.must(err)
	g.heard(level)
	return reply
}

// tryJoin joins as the n-th instance of a pod, and returns the store's answer, or AnswerOver if the agent would not
// call the store.
func (g *rig) tryJoin(s rounds.Slot, generation, life int64) rounds.AnswerKind {
	g.Helper()
	a := g.agent(s, generation)
	level, unit, active := g.at(s, generation)
	if active && a.Highest > level.Round {
		g.call(rounds.Lost(level.Incarnation, unit, s, a.Highest, entered(a, unit)))
		level, unit, active = g.at(s, generation)
	}
	if !active {
		return rounds.AnswerOver
	}
	if id := instanceID(s, life); a.Instance.ID != id {
		a.DiedIn = max(a.DiedIn, a.Instance.Round)
		a.Instance = worker.Known{ID: id, Attempt: life, Round: worker.NoRound, Ran: true}
	}
	entered := entered(a, unit)
	past := rounds.Past{Kind: rounds.PastNew, MoreEntered: entered > level.Entered}
	switch {
	case a.Instance.Saw && a.Instance.Round == level.Round:
		past.Kind = rounds.PastRuns
	case a.DiedIn == level.Round:
		past.Kind = rounds.PastDied
	case a.Ran:
		past.Kind = rounds.PastRan
	}
	member := rounds.Member{Slot: s, ID: a.Instance.ID, Attempt: life, Ran: true, Past: past}
	answer, err := rounds.ParseAnswer(g.call(rounds.Join(level.Incarnation, unit, level.Round, entered, member)))
	g.must(err)
	if answer.Kind == rounds.AnswerJoined {
		a.Instance.Round = level.Round
		g.at(s, generation)
	}
	return answer.Kind
}

// joinSlot joins as the n-th instance of a slot's pod.
func (g *rig) joinSlot(slot string, generation, life int64) {
	g.Helper()
	g.joinPod(slotOf(slot, generation), generation, life)
}

// joinPod joins as the n-th instance of a pod, and fails the test if the store rejects the join.
func (g *rig) joinPod(s rounds.Slot, generation, life int64) {
	g.Helper()
	if answer := g.tryJoin(s, generation, life); answer != rounds.AnswerJoined && answer != rounds.AnswerReplaced {
		g.Fatalf("the join of %s returned %q", s.Pod, answer)
	}
}

// join joins as the n-th instance of both slots, with the pods of the given generation.
func (g *rig) join(generation, life int64) {
	g.Helper()
	for _, slot := range []string{"js-w-0-0", "js-w-0-1"} {
		g.joinSlot(slot, generation, life)
	}
}

// fail makes an instance exit with code 1.
func (g *rig) fail(slot string, generation, life int64) {
	g.Helper()
	g.down(slotOf(slot, generation), generation, life, false, coordination.Failure{Cause: coordination.Cause{Kind: coordination.KindExit, ExitCode: 1}})
}

// leave makes the agent of a terminating pod report that the pod is terminating, and release the slot.
func (g *rig) leave(slot string, generation, life int64) {
	g.Helper()
	g.down(slotOf(slot, generation), generation, life, true, coordination.Failure{Cause: coordination.Cause{Kind: coordination.KindExit, ExitCode: 143}})
}

// down reports the death of an instance during the current restart. Agents do not report deaths from earlier restarts,
// unless their pods are terminating.
func (g *rig) down(s rounds.Slot, generation, life int64, leaves bool, f coordination.Failure) {
	g.Helper()
	a, id := g.agent(s, generation), instanceID(s, life)
	level, unit, active := g.at(s, generation)
	round := level.Round // it died before it could join
	if a.Instance.ID == id && a.Instance.Round != worker.NoRound {
		round = a.Instance.Round
	}
	if a.Instance.ID == id {
		a.Instance = worker.Known{Round: worker.NoRound}
	}
	a.DiedIn = max(a.DiedIn, round)
	if active && (round == level.Round || leaves) {
		g.call(rounds.Down(level.Incarnation, unit, rounds.Death{
			Slot: s, ID: id, Round: round, Ran: true, Leaves: leaves, Cause: rounds.FormatFailure(f),
		}))
	}
}

// finish makes the first instances of the slots exit with code 0.
func (g *rig) finish(slots ...string) {
	g.Helper()
	for _, slot := range slots {
		s := slotOf(slot, 1)
		level, unit, active := g.at(s, 1)
		if !active || g.call(rounds.Finish(level.Incarnation, unit, s, instanceID(s, 1), false)) == string(rounds.AnswerOver) {
			g.Fatalf("the store does not accept that %s has finished", slot)
		}
	}
}

// ask requests the recreation of the group.
func (g *rig) ask(slot, kind string) {
	g.Helper()
	s := slotOf(slot, 1)
	level, unit, _ := g.at(s, 1)
	g.call(rounds.Ask(level.Incarnation, unit, s, kind))
}

// release releases a pod from its slot, as another leader would do.
func (g *rig) release(transitions int64, s rounds.Slot) {
	g.Helper()
	level, unit, _ := g.at(s, 1)
	g.must(g.store.Release(g.ctx, uid, coordination.Token{LeaseCreated: 1, Transitions: transitions}, level, unit, s, rounds.LostPod(s.Name, coordination.Place{}), rounds.Slot{}))
}

// takeOver updates the group as another leader would.
func (g *rig) takeOver(transitions int64) {
	g.Helper()
	g.release(transitions, rounds.Slot{Name: "js-w-0-0", Pod: "nobody"})
}

func (g *rig) group() group.Summary {
	g.Helper()
	sum, err := grouptest.Read(g.ctx, g.store, uid)
	if err != nil {
		g.Fatalf("the group: %v", err)
	}
	return sum
}
