package rescheduling

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
)

// family knows which controllers of pods belong to one root: a JobSet's Jobs, a Deployment's ReplicaSets.
type family struct {
	mu       sync.Mutex
	children map[types.UID]map[types.UID]bool
	// waiting are pods that wait for their owner to recover.
	waiting map[types.UID]map[client.ObjectKey]bool
}

func newFamily() *family {
	return &family{children: map[types.UID]map[types.UID]bool{}, waiting: map[types.UID]map[client.ObjectKey]bool{}}
}

// wait notes that a pod is to be looked at again when one of its owners changes.
func (f *family) wait(pod client.ObjectKey, chain owners.Chain) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range chain {
		if f.waiting[o.UID] == nil {
			f.waiting[o.UID] = map[client.ObjectKey]bool{}
		}
		f.waiting[o.UID][pod] = true
	}
}

// wake returns the pods that wait for the owner, once.
func (f *family) wake(owner types.UID) []client.ObjectKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	pods := slices.Collect(maps.Keys(f.waiting[owner]))
	delete(f.waiting, owner)
	return pods
}

func (f *family) add(root, direct types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.children[root] == nil {
		f.children[root] = map[types.UID]bool{}
	}
	f.children[root][direct] = true
}

// of a root: the controllers that pods were seen of.
func (f *family) of(root types.UID) []types.UID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.children[root]))
}

// drop a controller that has no pods any more.
func (f *family) drop(root, direct types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.children[root], direct)
	if len(f.children[root]) == 0 {
		delete(f.children, root)
	}
}
