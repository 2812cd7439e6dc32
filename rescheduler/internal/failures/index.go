// Package failures remembers for a short while which pods have failed on which nodes, by owner. A failed pod may be replaced before the
// controller has recorded its node, and a StatefulSet has deleted the pod by then. The webhook looks here when it admits the replacement.
package failures

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Limits of the index.
const (
	keep     = 2 * time.Minute // the owner's memory has the failure by then
	perOwner = 32
	most     = 4096
)

// Failure is the failure of one pod.
type Failure struct {
	Node, Slot string
	At         time.Time     // when it was observed
	TTL        time.Duration // how long the node is excluded
}

// Index holds recent failures by owner. It is safe for concurrent use. The zero value is empty.
type Index struct {
	mu      sync.RWMutex
	byOwner map[types.UID][]Failure
}

// Note adds the failure of a pod of the owner. An empty slot means that the failure concerns all pods of the owner.
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

// sweep drops expired failures.
func (x *Index) sweep(now time.Time) {
	for owner, failures := range x.byOwner {
		if now.Sub(failures[len(failures)-1].At) > keep {
			delete(x.byOwner, owner)
		}
	}
}

// Nodes returns the nodes on which pods of the owner have failed recently: all pods, or the pods of this slot.
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
