package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// culprits are the slots affected by a permanent fault. The JobSet must fail with a message that names one of them (L9).
//
//	AlwaysExits  its worker exits soon after every start, in any pod: a typo in the command, a broken device
//	NeverStarts  none of its pods start: an image that cannot be pulled
//	NodeSilent   its node stays unreachable; the Job controller's next pod runs elsewhere, so the JobSet need not fail
type culprits map[string]Kind

// silentFor is how long a node may be silent before its pods are deleted.
const silentFor = 60 * time.Second

// hopeless reports whether a fault prevents the group from running for long.
func (c culprits) hopeless() bool {
	for _, kind := range c {
		if kind != NodeSilent {
			return true
		}
	}
	return false
}

// add records a fault. If a slot has several, the first one counts.
func (c culprits) add(slot string, kind Kind) {
	if c[slot] == "" {
		c[slot] = kind
	}
}

// silence disconnects a node permanently, if another node can run its pods.
func (n *node) silence() {
	if n.cut || n.lost || !n.replaceable() {
		return
	}
	n.cut, n.silent = true, true
	for _, p := range n.pods {
		if p.node == n {
			n.truth.silenced = append(n.truth.silenced, p.workedSlot().Name)
		}
	}
	n.note(n.name, "becomes permanently unreachable")
	n.in(silentFor, func() {
		for _, p := range slices.Clone(n.pods) {
			if p.node == n {
				n.culprits.add(p.slot, NodeSilent)
				p.deletePod(p)
				p.in(silentFor/2, p.forceDelete)
			}
		}
	})
}

// mayDieYoung schedules the death of a worker that has just started, if a fault requires it.
func (p *pod) mayDieYoung(c *instance) {
	switch {
	case p.culprits[c.slot] == AlwaysExits:
	case p.dieYoung > 0:
		p.dieYoung--
	default:
		return
	}
	p.in(p.random.between(5*time.Millisecond, 2*time.Second), func() { p.exit(c, 1) })
}

// goesOn returns why a JobSet that cannot run has not ended, or "" if it has.
func (w *world) goesOn(js *jobSet) string {
	if js.state == failed {
		return w.leftBehind(js)
	}
	return fmt.Sprintf("it has not failed although it cannot run: %v", w.culprits)
}

// checkVerdict checks L9: a JobSet that fails after the faults have ended must report why, and name a culprit. Earlier failures are not checked,
// because a leader that crashes may not have reported anything. If a repair recreates all pods shortly before the round times out, another pod
// may be the missing one at the end. In that case, the repair's event names the culprit.
func (t *truth) checkVerdict() {
	verdict := strings.Join(t.verdict, "; ")
	named := func(slot string) bool { return strings.Contains(verdict, slot) }
	if t.failedInPeace && t.culprits.hopeless() && !slices.ContainsFunc(append(t.silenced, slices.Collect(maps.Keys(t.culprits))...), named) {
		t.fail("L9", "the JobSet fails with %q, but the fault is in %v", verdict, t.culprits)
	}
}

// blamed checks L9: the death that used up the budget must be that of a culprit.
func (t *truth) blamed(v *view) {
	if slot := v.lineSlot(); v.Phase == coordination.Terminal && t.culprits.hopeless() && t.culprits[slot] == "" {
		t.fail("L9", "a death in %q used up the budget, but the fault is in %v", slot, t.culprits)
	}
}

// endless returns a shape with faults that do not end.
func endless(driver Driver) Shape {
	s := shape("endless "+string(driver), workers(driver, 1, 3), append(harmless(driver), chances(30, AlwaysExits, NodeSilent)...), 4)
	s.Budget = 3
	return s
}

// absent returns a shape with workers that never start. In-place restarts, repairs, recreations and the forming-timeout fail, one after another.
func absent(driver Driver) Shape {
	s := shape("absent "+string(driver), workers(driver, 1, 3), append(harmless(driver), chances(30, NeverStarts)...), 3)
	s.Budget, s.Forming = 2, 2*time.Minute
	return s
}

// harmless returns the faults that do not affect a worker with the given driver. For Exec, crashes of the agent are excluded,
// because the worker dies with its supervisor.
func harmless(driver Driver) []Chance {
	return slices.DeleteFunc(withoutHarm(), func(c Chance) bool {
		return driver == Exec && (c.Kind == AgentCrashes || c.Kind == AgentFuse)
	})
}
