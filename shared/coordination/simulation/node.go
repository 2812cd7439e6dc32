package simulation

import (
	"slices"
	"time"
)

// node is a machine, with its clock, its network connection and its kubelet.
type node struct {
	*world
	name  string
	phase time.Duration // offset of the kubelet's relist, which runs once per second
	skew  time.Duration // offset of its clock
	cut   bool          // disconnected from the store and the API server
	lost  bool          // crashed permanently

	silent bool // disconnected permanently
}

const relist = time.Second

// wall returns the time according to the node's clock.
func (n *node) wall() time.Time { return beginning.Add(n.now + n.skew) }

// nextRelist returns the time until the kubelet next lists its containers.
func (n *node) nextRelist() time.Duration {
	return relist - (n.now+relist-n.phase)%relist
}

// replaceable reports whether another node can run the pods of this one. A history that loses all nodes could not settle.
func (n *node) replaceable() bool {
	return slices.ContainsFunc(n.nodes, func(other *node) bool { return other != n && !other.cut && !other.lost })
}

// crash ends everything that is running on the node, without a report.
func (n *node) crash() {
	n.note(n.name, "crashes")
	n.cut, n.lost = true, true
	for _, p := range n.pods {
		if p.node == n {
			p.vanish()
		}
	}
}

// heal ends a partition. The kubelet then stops pods that were deleted during the partition.
func (n *node) heal() {
	if n.lost || n.silent || !n.cut {
		return
	}
	n.cut = false
	n.note(n.name, "is connected again")
	for _, p := range n.pods {
		if p.node == n && (p.deleting || p.gone) {
			p.terminate()
		}
	}
}

// clear force-deletes the pods on an unreachable node.
func (n *node) clear() {
	for _, p := range slices.Clone(n.pods) {
		if p.node == n {
			p.forceDelete()
		}
	}
}
