// Package failures remembers for a short while which pods have failed where, by their owner. A pod in phase Failed is replaced
// before anybody can write down its node, and a StatefulSet's is gone by then; who admits the replacement asks here.
package failures

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Bounds of what is remembered.
const (
	keep     = 2 * time.Minute // by then it is in the owner's memory
	perOwner = 32
	most     = 4096
)

// Failure of one pod.
type Failure struct {
	Node, Slot string
	At         time.Time     // when it was seen
	TTL        time.Duration // how long the node is avoided
}

// Index is safe for concurrent use. The zero value is empty.
type Index struct {
	mu      sync.RWMutex
	byOwner map[types.UID][]Failure
}

// Note adds a failure of a pod of the owner. Slot is empty if the failure is about all pods of the owner.
func (x *Index) Note(owner types.UID, f Failure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byOwner == nil {
		x.byOwner = map[types.UID][]Failure{}
	}
	if len(x.byOwner) >= most {
		x.sweep(f.At)
	}
	kept := slices.DeleteFunc(x.byOwner[owner], func(old Failure) bool {
		return old.Node == f.Node && old.Slot == f.Slot || f.At.Sub(old.At) > keep
	})
	kept = append(kept, f)
	x.byOwner[owner] = kept[max(0, len(kept)-perOwner):]
}

// sweep drops what is over.
func (x *Index) sweep(now time.Time) {
	for owner, failures := range x.byOwner {
		if now.Sub(failures[len(failures)-1].At) > keep {
			delete(x.byOwner, owner)
		}
	}
}

// Nodes are those on which pods of the owner have failed of late: of all slots, or of this one.
func (x *Index) Nodes(owner types.UID, slot string, now time.Time) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var nodes []string
	for _, f := range x.byOwner[owner] {
		if (f.Slot == "" || f.Slot == slot) && now.Sub(f.At) < min(keep, f.TTL) && !slices.Contains(nodes, f.Node) {
			nodes = append(nodes, f.Node)
		}
	}
	return nodes
}
