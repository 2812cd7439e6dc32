package leader

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// nodesEvery is how long a pod may take to end before its node is looked at, and how often then.
const nodesEvery = 5 * time.Second

// releaseDead deletes by force pods of which there is evidence that nothing of them runs, however far the group is: a Job that is deleted
// stays until its pods are gone, and its successor is not made before, so that the group would form for ever.
//
// All pods of such a Job end at the same time, most of them on nodes that live. So nodes are read for a while at a time, in turn; what
// lives has soon no pods left to ask for.
//
// Without evidence, a pod of a slot whose time is over on a node that is not ready leaves the group, so that the others stop waiting for it
// in a rendezvous; but its slot stays empty, because its worker may still run.
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
			if len(p.plan.Need.Nodes) < atOnce && !p.Spent[p.rule] {
				p.needNode(pod.Node)
			}
		case node.Failed:
		case node.Dead != "":
			dead = append(dead, victim{slot: pod.Slot, pod: pod, why: node.Dead})
		case i < len(awaited) && node.Unready && p.now.After(pod.Due):
			p.released(slotOf(pod), pod.Name)
		}
	}
	if len(p.plan.Need.Nodes) == 0 && len(p.plan.Actions) == 0 {
		p.remove(dead, ForDead, func(_ victim, live *workload.Pod) bool { return live.Deleting && !live.Over() })
	}
}

func (p *planner) needNode(name string) {
	if !slices.Contains(p.plan.Need.Nodes, name) {
		p.plan.Need.Nodes = append(p.plan.Need.Nodes, name)
	}
}

// ending are the pods that do not end: those of slots that the group waits for, and the others of the owner's Jobs. Annotations can name any
// owner; a Job is of the one that owns it.
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
	for i := range p.Jobs {
		ours[p.Jobs[i].UID] = true
	}
	for _, pod := range p.Pods {
		if ours[pod.Job] && !seen[pod.UID] && p.stays(pod) {
			others = append(others, pod)
		}
	}
	return awaited, others
}

// stays reports whether a pod is being deleted for so long that its node is to be looked at.
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
