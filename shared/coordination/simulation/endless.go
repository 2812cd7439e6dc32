package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// culprits are the slots that a permanent fault has struck. The JobSet must end, and name one of them (L9).
//
//	AlwaysExits  its worker exits soon after every start, in any pod: a typo in the command, a broken device
//	NeverStarts  no pod of it starts: an image that cannot be pulled
//	NodeSilent   its node stays unreachable. The Job controller's next pod runs elsewhere, so that nothing must end
type culprits map[string]Kind

// silentFor is how long the API server waits for a silent node before it deletes the node's pods.
const silentFor = 60 * time.Second

// hopeless reports whether a fault prevents the group from ever running for long.
func (c culprits) hopeless() bool {
	for _, kind := range c {
		if kind != NodeSilent {
			return true
		}
	}
	return false
}

// add records a fault. The first fault of a slot stays.
func (c culprits) add(slot string, kind Kind) {
	if c[slot] == "" {
		c[slot] = kind
	}
}

// silence disconnects a node permanently, if another one can run its pods.
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
	n.note(n.name, "is not heard of again")
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

// goesOn returns why a JobSet that cannot run has not ended, "" if it has.
func (w *world) goesOn(js *jobSet) string {
	if js.state == failed {
		return w.leftBehind(js)
	}
	return fmt.Sprintf("it goes on though it never can: %v", w.culprits)
}

// checkVerdict checks L9: a JobSet that fails after the faults reports why, and names a culprit. A leader that crashes may not have
// reported it. If a repair has recreated all pods shortly before the round times out, another pod may be the one that is missing at the end, and the
// event of the repair is the one that names the culprit.
func (t *truth) checkVerdict() {
	verdict := strings.Join(t.verdict, "; ")
	named := func(slot string) bool { return strings.Contains(verdict, slot) }
	if t.failedInPeace && t.culprits.hopeless() && !slices.ContainsFunc(append(t.silenced, slices.Collect(maps.Keys(t.culprits))...), named) {
		t.fail("L9", "the JobSet fails with %q, the fault is in %v", verdict, t.culprits)
	}
}

// blamed checks L9: the death that used up the budget names the culprit.
func (t *truth) blamed(v *view) {
	if slot := v.lineSlot(); v.Phase == coordination.Terminal && t.culprits.hopeless() && t.culprits[slot] == "" {
		t.fail("L9", "the budget ends with a death of %q, the fault is in %v", slot, t.culprits)
	}
}

// endless has faults that do not end by themselves.
func endless(driver Driver) Shape {
	s := shape("endless "+string(driver), workers(driver, 1, 3), append(harmless(driver), chances(30, AlwaysExits, NodeSilent)...), 4)
	s.Budget = 3
	return s
}

// absent has workers that never start. In-place restarts, repairs, recreations and the forming-timeout are used up one after the
// other.
func absent(driver Driver) Shape {
	s := shape("absent "+string(driver), workers(driver, 1, 3), append(harmless(driver), chances(30, NeverStarts)...), 3)
	s.Budget, s.Forming = 2, 2*time.Minute
	return s
}

// harmless returns the faults that cost no worker with the given driver: a supervisor that crashes takes its worker with it.
func harmless(driver Driver) []Chance {
	return slices.DeleteFunc(withoutHarm(), func(c Chance) bool {
		return driver == Exec && (c.Kind == AgentCrashes || c.Kind == AgentFuse)
	})
}
