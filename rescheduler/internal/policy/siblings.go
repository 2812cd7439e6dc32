package policy

// Siblings are what other pods of the same template say: the nodes on which some of them fail in the same way, and those on which some have
// been ready for long enough. A node may be among both.
type Siblings struct {
	Failing, Well map[string]bool
}

// severalNodes beside the pod's own are enough to suspect the workload.
const severalNodes = 2

// suspectsWorkload reports whether the fault follows the workload instead of the node. A pod with an identity that has failed in the same way
// on several nodes before takes its fault along, however well its siblings run. Of pods without identity the history of all counts, and
// speaks with the siblings that fail now; those that run well on more nodes than that outweigh it.
func suspectsWorkload(f Facts) bool {
	history := f.Workload.Memory.FailedOn(f.Pod.Slot, f.Match.Row.Name)
	if f.Pod.Slot != "" && without(f.Node.Name, history) >= severalNodes {
		return true
	}
	failing := map[string]bool{}
	for _, nodes := range []map[string]bool{history, f.Siblings.Failing} {
		for node := range nodes {
			failing[node] = true
		}
	}
	against := without(f.Node.Name, failing)
	return against >= severalNodes && without(f.Node.Name, f.Siblings.Well) <= against
}

// without counts the nodes beside one.
func without(node string, nodes map[string]bool) int {
	if nodes[node] {
		return len(nodes) - 1
	}
	return len(nodes)
}
