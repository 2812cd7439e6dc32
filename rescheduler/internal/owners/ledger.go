package owners

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
)

// remembered limits the number of objects in a Ledger. Others are read from the cache.
const remembered = 4096

// maxWaiting limits the number of pods that an unlock wakes. Others must be requeued.
const maxWaiting = 16

// Ledger holds what this process has written until the caches show it, so that the next decision about a workload and the next admission
// use it. It also serializes the decisions about one workload.
type Ledger struct {
	mu      sync.Mutex
	written *lru.Cache
	locks   map[types.UID][]types.NamespacedName // waiting pods, by the UID of the locked workload
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{written: lru.New(remembered), locks: map[types.UID][]types.NamespacedName{}}
}

// Wrote records an object as the API server returned it.
func (l *Ledger) Wrote(o *metav1.PartialObjectMetadata) { l.written.Add(o.UID, o.DeepCopy()) }

// Latest returns the newer of the object and what was written.
func (l *Ledger) Latest(o *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	known, found := l.written.Get(o.UID)
	if !found {
		return o
	}
	ours := known.(*metav1.PartialObjectMetadata)
	if order, err := resourceversion.CompareResourceVersion(ours.ResourceVersion, o.ResourceVersion); err != nil || order <= 0 {
		return o
	}
	return ours.DeepCopy()
}

// TryLock locks a workload for a decision about one of its pods. It never blocks, because all workloads share the workers. If another
// decision is in progress, it records the pod and reports false. Unlock returns the pods that were recorded since.
func (l *Ledger) TryLock(uid types.UID, pod types.NamespacedName) (unlock func() []types.NamespacedName, locked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if waiting, held := l.locks[uid]; held {
		if len(waiting) < maxWaiting && !slices.Contains(waiting, pod) {
			l.locks[uid] = append(waiting, pod)
		}
		return nil, false
	}
	l.locks[uid] = nil
	return func() []types.NamespacedName {
		l.mu.Lock()
		defer l.mu.Unlock()
		waiting := l.locks[uid]
		delete(l.locks, uid)
		return waiting
	}, true
}
