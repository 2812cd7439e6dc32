package rescheduling

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// family knows which controllers of pods belong to one root: a JobSet's Jobs, a Deployment's ReplicaSets.
type family struct {
	mu       sync.Mutex
	children map[types.UID]map[types.UID]bool
}

func newFamily() *family { return &family{children: map[types.UID]map[types.UID]bool{}} }

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
