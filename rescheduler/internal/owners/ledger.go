package owners

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
)

// remembered bounds the objects that a Ledger knows. One that falls out of it is read from the cache again.
const remembered = 4096

// maxWaiting bounds the pods that a lock wakes. Others have to come again by themselves.
const maxWaiting = 16

// Ledger knows what this process has written itself, before the caches do: the next decision about a workload, and the next pod
// that is admitted, are made on it. It also lets one decision about a workload be made at a time.
type Ledger struct {
	mu      sync.Mutex
	written *lru.Cache
	locks   map[types.UID][]types.NamespacedName // pods that wait, by the workload that is locked
}

// NewLedger knows nothing.
func NewLedger() *Ledger {
	return &Ledger{written: lru.New(remembered), locks: map[types.UID][]types.NamespacedName{}}
}

// Wrote remembers an object as the API server returned it.
func (l *Ledger) Wrote(o *metav1.PartialObjectMetadata) { l.written.Add(o.UID, o.DeepCopy()) }

// Latest is the newer of an object and what was written.
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

// TryLock locks a workload for a decision about one of its pods. It never waits, because the workers are for all workloads: if another pod's
// decision is being made, it notes the pod and reports false. Unlock returns the pods that were noted meanwhile.
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
