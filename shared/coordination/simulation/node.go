package simulation

import (
	"slices"
	"time"
)

// node is a machine: its clock, its connection, and the rhythm of its kubelet.
type node struct {
	*world
	name  string
	phase time.Duration // of the kubelet's look at its containers, once a second
	skew  time.Duration // of its clock
	cut   bool          // off from the store and the API server
	lost  bool          // crashed for good

	silent bool // cut off for good
}

const relist = time.Second

// wall is the node's clock.
func (n *node) wall() time.Time { return beginning.Add(n.now + n.skew) }

// nextRelist is how long it is until the kubelet looks at its containers the next time.
func (n *node) nextRelist() time.Duration {
	return relist - (n.now+relist-n.phase)%relist
}

// replaceable reports whether another node can run the pods of this one: a history in which all nodes are lost for good has no good end.
func (n *node) replaceable() bool {
	return slices.ContainsFunc(n.nodes, func(other *node) bool { return other != n && !other.cut && !other.lost })
}

// crash ends all that runs on the node, and nothing reports it.
func (n *node) crash() {
	n.note(n.name, "crashes")
	n.cut, n.lost = true, true
	for _, p := range n.pods {
		if p.node == n {
			p.vanish()
		}
	}
}

// heal ends a partition; the kubelet then stops what was deleted meanwhile.
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

// clear deletes by force what is on a node that is not heard of.
func (n *node) clear() {
	for _, p := range slices.Clone(n.pods) {
		if p.node == n {
			p.forceDelete()
		}
	}
}
