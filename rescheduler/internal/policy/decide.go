// Package policy decides what to do about an abnormal pod: nothing, wait, record the node, move the pod, or give up. It also gives the
// reason, as shown to users in events and annotations. It performs no I/O. The time and the state of the cluster are arguments of Decide.
// Budgets has state: the caller draws on it before it moves a pod.
//
// Decide tries the rules in the order of its list: whether the pod may be moved at all, whether the failure has lasted long enough,
// whether the workload is recovering or its group was just moved, and whether the fault is the workload's or the node's. learn then records
// the node, and moves the pod if there is another place for it.
package policy

import (
	"fmt"
	"maps"
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Decide decides what to do about the pod. The caller must check the budgets before it moves the pod. See Budgets.
func Decide(f Facts) Decision {
	if f.Match.Since.After(f.Now) { // the node's clock is ahead
		f.Match.Since = f.Now
	}
	for _, rule := range []func(Facts) (Decision, bool){
		protected, never, lasting, recovering, recovered, groupMoved, ownLimit, workloadsFault,
	} {
		if d, decided := rule(f); decided {
			return d
		}
	}
	return learn(f)
}

func protected(f Facts) (Decision, bool) {
	return Decision{Act: Leave, Reason: NotMovable, Message: "it is never moved: " + f.Pod.Protected}, f.Pod.Protected != ""
}

func never(f Facts) (Decision, bool) {
	message := fmt.Sprintf("%s is not caused by node %s: the pod is not moved", f.Match.Reason, f.Node.Name)
	return Decision{Act: Leave, Reason: NeverMoved, Message: message}, f.Match.Row.Action == signals.Never
}

// recovering waits while the workload is recovering. It does not delay decisions that do not disturb a running pod.
func recovering(f Facts) (Decision, bool) {
	left := f.Workload.Recovering.Sub(f.Now)
	if !f.disturbs() || left <= 0 {
		return Decision{}, false
	}
	return Decision{
		Act: Wait, Reason: Recovering, After: left,
		Message: fmt.Sprintf("%s is recovering until %s", f.Workload.Name, f.Workload.Recovering.UTC().Format(time.RFC3339)),
	}, true
}

// disturbs reports whether the decision would remove a running pod.
func (f Facts) disturbs() bool { return f.Match.Row.Action == signals.Move && !f.Pod.Failed }

// recovered waits after a recovery, because the kubelet reports a container as running a few seconds later than its group does.
func recovered(f Facts) (Decision, bool) {
	left := signals.StatusAge - f.Now.Sub(f.Workload.Recovered)
	if f.Workload.Recovered.IsZero() || !f.disturbs() || left <= 0 {
		return Decision{}, false
	}
	return Decision{Act: Wait, Reason: TooEarly, After: left, Message: f.Workload.Name + " recovered a moment ago"}, true
}

// lasting waits until the signal has lasted long enough, and ignores signals that no longer apply.
func lasting(f Facts) (Decision, bool) {
	left := f.Match.Row.After - f.Now.Sub(f.Match.Since)
	switch {
	case left > 0:
		return Decision{Act: Wait, Reason: TooEarly, After: left, Message: f.Match.Reason + " has not lasted long enough yet"}, true
	case !f.Match.Down:
		return Decision{Act: Leave, Reason: TooEarly, Message: "it is currently running"}, true
	}
	return Decision{}, false
}

// groupMoved waits after a move in the same group. When one member fails, the others often fail too, and one fault must cost only one move.
func groupMoved(f Facts) (Decision, bool) {
	if f.Pod.Group == "" || f.Match.Row.Action != signals.Move || f.Pod.Failed && f.Match.Row.Instant() {
		return Decision{}, false
	}
	if f.Pod.Whole {
		return Decision{
			Act: Leave, Reason: NotMovable, Warning: true,
			Message: fmt.Sprintf("%s on node %s: its group may only be disrupted as a whole, which the rescheduler does not do", f.Match.Reason, f.Node.Name),
		}, true
	}
	left := f.Config.GroupSettle.Duration - f.Now.Sub(f.Workload.GroupMoved)
	if f.Workload.GroupMoved.IsZero() || left <= 0 {
		return Decision{}, false
	}
	return Decision{
		Act: Wait, Reason: GroupMovedAlready, After: left,
		Message: fmt.Sprintf("another pod of group %s was moved a moment ago", f.Pod.Group),
	}, true
}

// ownLimit leaves a pod in place if its container exceeded its own memory limit, because that would happen on every node. If the node
// itself is short of memory, the check does not apply.
func ownLimit(f Facts) (Decision, bool) {
	message := "the container exceeded its own memory limit, which would happen on any node: raise the limit or use less memory"
	return Decision{Act: Leave, Reason: WorkloadFault, Message: message, Warning: true}, f.Match.OwnLimit && !f.Node.MemoryPressure
}

func workloadsFault(f Facts) (Decision, bool) {
	if !f.Match.Row.Siblings || !suspectsWorkload(f) {
		return Decision{}, false
	}
	message := fmt.Sprintf("%s on other nodes too: the workload is probably at fault, so its pods stay where they are", f.Match.Reason)
	return Decision{Act: Leave, Reason: WorkloadFault, Message: message, Warning: true, After: recheck}, true
}

// recheck is the delay before deciding again if the decision depends on other pods, because their changes cause no event for this pod.
const recheck = 5 * time.Minute

// learn adds the failure to the history and determines its cost.
func learn(f Facts) Decision {
	known, lesson := f.Workload.Memory.Learn(f.failure(), f.Now)
	if lesson == memory.Known && f.disturbs() {
		known, lesson = known.Renew(f.failure(), f.Now)
	}
	d := Decision{Memory: known, Learned: lesson != memory.Known}
	switch lesson {
	case memory.Stale:
		return Decision{Act: Leave, Reason: TooLongAgo, Message: "it failed long ago"}
	case memory.New:
		d.Blame = f.Match.Row.Blame
		d.Memory.RelaxedUntil = time.Time{} // lifting the exclusions has not helped
	}
	charged := f.Match.Row.Charged && lesson == memory.New
	// A workload has at most `retries` moves. The design document moves the pod before it compares, which allows one more.
	over := max(0, f.Workload.Memory.Times) >= f.Workload.Retries
	if over && (charged || f.Workload.Memory.Exhausted) {
		return exhausted(f)
	}
	d.Memory.Exhausted = false
	if charged {
		d.Memory = d.Memory.Charge(memory.Move{Slot: f.Pod.Slot, Node: f.Node.Name, Class: f.Match.Row.Name, At: f.Now})
	}
	return f.carryOut(d)
}

// exhausted lifts all exclusions, unless they have already been lifted, so that they cannot prevent the workload from running.
func exhausted(f Facts) Decision {
	d := Decision{
		Act: Leave, Reason: Exhausted, Warning: true,
		Message: fmt.Sprintf("%s on node %s: all %d moves are used up, so the pod is not moved", f.Match.Reason, f.Node.Name, f.Workload.Retries),
	}
	if !f.Workload.Memory.Exhausted {
		d.Act, d.Memory, d.Learned = Exhaust, f.Workload.Memory.Exhaust(), true
		d.Message += "; all exclusions are lifted"
	}
	return d
}

func (f Facts) failure() memory.Failure {
	failure := memory.Failure{
		Node: f.Node.Name, NodeUID: f.Node.UID, Class: f.Match.Row.Name, Reason: f.Match.Reason,
		Pod: f.Pod.UID, Created: f.Pod.Created, At: f.Now, TTL: f.Match.Row.TTL,
	}
	if f.Pod.Failed {
		failure.At = f.Match.Since
	}
	if f.Match.Row.BySlot {
		failure.Slot = f.Pod.Slot
	}
	return failure
}

// carryOut decides how the pod leaves its node.
func (f Facts) carryOut(d Decision) Decision {
	where := fmt.Sprintf("%s on node %s: ", f.Match.Reason, f.Node.Name)
	stays := func(reason string, after time.Duration, why string) Decision {
		return Decision{Act: Leave, Reason: reason, Warning: true, After: after, Blame: d.Blame, Message: where + why}
	}
	switch {
	case f.Pod.Placed && !f.Node.Tainted:
		return stays(NotMovable, recheck, "Kueue has placed the pod by topology, and would place its replacement there again, because the node has no taint")
	case f.Pod.Placed:
	case f.Pod.Pinned != "":
		return stays(NotMovable, 0, "the pod cannot run elsewhere, because "+f.Pod.Pinned)
	case !f.Node.Others:
		return stays(NoOtherNode, recheck, "there is no other node that the pod could run on")
	}
	switch {
	case f.Match.Row.Action == signals.Record || f.Pod.Failed && !f.Pod.Bare:
		d.Act, d.Reason = Record, Excluded
		d.Message = fmt.Sprintf("%sreplacements avoid the node for %s", where, f.Match.Row.TTL)
	case f.Pod.Bare && !f.Config.BarePods.Recreate:
		return stays(NotMovable, 0, "no controller would recreate the pod, and barePods.recreate is off")
	case f.Pod.Bare:
		d.Act, d.Reason = Remake, Moved
		d.Message = where + "the pod is recreated, to run on another node"
	default:
		d.Act, d.Reason = Evict, Moved
		d.Message = fmt.Sprintf("%sevicted, to run on another node; this one is avoided for %s", where, f.Match.Row.TTL)
	}
	if f.Match.Row.Charged && d.Memory.Times > 0 {
		d.Message += fmt.Sprintf(" (move %d of %d)", d.Memory.Times, f.Workload.Retries)
	}
	if f.Config.DryRun {
		return Decision{Act: Leave, Reason: WouldMove, Message: "dry run: " + d.Message}
	}
	return d
}

// Siblings summarizes the other pods with the same template: the nodes on which some of them are failing in the same way, and the nodes on
// which some have been ready for long enough. A node may be in both sets.
type Siblings struct {
	Failing, Well map[string]bool
}

// severalNodes is how many other nodes must show the same failure before the workload is suspected.
const severalNodes = 2

// suspectsWorkload reports whether the failure follows the workload and not the node. This is the case if a pod with an identity has failed
// in the same way on several nodes, regardless of how healthy its siblings are. For pods without an identity, the history of all pods and
// the siblings that are currently failing are combined, unless siblings are healthy on more nodes than that.
func suspectsWorkload(f Facts) bool {
	failing := f.Workload.Memory.FailedOn(f.Pod.Slot, f.Match.Row.Name)
	delete(failing, f.Node.Name)
	if f.Pod.Slot != "" && len(failing) >= severalNodes {
		return true
	}
	maps.Copy(failing, f.Siblings.Failing)
	well := maps.Clone(f.Siblings.Well)
	delete(failing, f.Node.Name)
	delete(well, f.Node.Name)
	return len(failing) >= severalNodes && len(well) <= len(failing)
}
