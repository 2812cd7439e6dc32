package policy

// Siblings summarize the other pods of the same template: the nodes on which some of them fail in the same way, and the nodes on which some
// have been ready for long enough. A node may be in both.
type Siblings struct {
	Failing, Well map[string]bool
}

// severalNodes is how many other nodes with the same failure make the workload suspect.
const severalNodes = 2

// suspectsWorkload reports whether the failure follows the workload and not the node. This is so if a pod with an identity has failed in
// the same way on several nodes, however healthy its siblings are. For pods without an identity, the history of all pods counts together
// with the siblings that fail now, unless siblings are healthy on more nodes than that.
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

// without counts the nodes except one.
func without(node string, nodes map[string]bool) int {
	if nodes[node] {
		return len(nodes) - 1
	}
	return len(nodes)
}
