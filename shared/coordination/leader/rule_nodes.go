package leader

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// nodesEvery is how long a pod may be terminating before its node is checked, and the interval between later checks.
const nodesEvery = 5 * time.Second

// releaseDead force-deletes pods if there is evidence that nothing in them is running, in any phase of the group. A deleted Job
// exists until its pods are gone, and its successor is created only after that, so without force-deletion the group might never
// form.
//
// All pods of such a Job terminate at the same time, most of them on healthy nodes, where they are soon gone. Nodes are therefore
// read in turn, for a limited time in each reconcile.
//
// Without such evidence, a pod that should have terminated but is on a node that is not ready is only released from its slot, so
// that its peers stop waiting for it in a rendezvous. The slot stays empty, because the worker may still be running.
func (p *planner) releaseDead() {
	if p.wanted == nil || p.wanted.Suspended || p.group == nil {
		return
	}
	awaited, others := p.ending()
	if len(others) > 0 && p.due(&p.memory.nodesChecked, nodesEvery) {
		first := int(p.Began.Unix()/int64(nodesEvery/time.Second)) % len(others)
		others = append(others[first:len(others):len(others)], others[:first]...)
	} else {
		others = nil
	}
	var dead []victim
	for i, pod := range append(awaited, others...) {
		node, known := p.Reads.Nodes[pod.Node]
		switch {
		case !known:
			if nodes := p.plan.Need.Nodes; len(nodes) < atOnce && !p.Spent[p.rule] && !slices.Contains(nodes, pod.Node) {
				p.plan.Need.Nodes = append(nodes, pod.Node)
			}
		case node.Failed:
		case node.Dead != "":
			dead = append(dead, victim{slot: pod.Slot, pod: pod, why: node.Dead})
		case i < len(awaited) && node.Unready && p.now.After(pod.Due):
			p.released(p.slotOf(pod), pod.Name)
		}
	}
	if len(p.plan.Need.Nodes) == 0 && len(p.plan.Actions) == 0 {
		p.remove(dead, ForDead, func(_ victim, live *workload.Pod) bool { return live.Deleting && !live.Over() })
	}
}

// ending returns the pods that should have terminated by now: those in slots that the group is waiting for, and others that belong
// to the owner's Jobs. Jobs are matched by UID, because annotations could name any owner.
func (p *planner) ending() (awaited, others []*workload.Pod) {
	seen := map[string]bool{}
	if p.replaces() {
		for _, at := range p.places() {
			if workload.StateOf(at.pods) != workload.Ending {
				continue
			}
			for _, pod := range at.pods {
				seen[pod.UID] = true
				if p.stays(pod) {
					awaited = append(awaited, pod)
				}
			}
		}
	}
	ours := map[string]bool{}
	for _, job := range p.Jobs {
		ours[job.UID] = true
	}
	for _, pod := range p.Pods {
		switch {
		case !ours[pod.Job] || seen[pod.UID] || !p.stays(pod):
		case p.replaces() && p.seating().slot[pod.UID] != "":
			awaited = append(awaited, pod)
		default:
			others = append(others, pod)
		}
	}
	return awaited, others
}

// stays reports whether a pod has been terminating long enough for its node to be checked.
func (p *planner) stays(pod *workload.Pod) bool {
	if !pod.Deleting || pod.Over() {
		return false
	}
	if wait := pod.Asked.Add(nodesEvery).Sub(p.now); wait > 0 {
		p.resyncIn(wait)
		return false
	}
	p.resyncIn(nodesEvery)
	return true
}
