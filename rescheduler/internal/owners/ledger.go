package owners

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"
)

// remembered bounds the objects that a Ledger knows. One that falls out of it is read from the cache again.
const remembered = 4096

// Ledger knows what this process has written itself, before the caches do: the next decision about a workload, and the next pod
// that is admitted, are made on it. It also lets one decision about a workload be made at a time.
type Ledger struct {
	mu      sync.Mutex
	written *lru.Cache
	locks   map[types.UID]*lock
}

type lock struct {
	sync.Mutex
	users int
}

// NewLedger knows nothing.
func NewLedger() *Ledger {
	return &Ledger{written: lru.New(remembered), locks: map[types.UID]*lock{}}
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

// Lock a workload until the returned function is called.
func (l *Ledger) Lock(uid types.UID) (unlock func()) {
	l.mu.Lock()
	held := l.locks[uid]
	if held == nil {
		held = &lock{}
		l.locks[uid] = held
	}
	held.users++
	l.mu.Unlock()
	held.Lock()
	return func() {
		held.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if held.users--; held.users == 0 {
			delete(l.locks, uid)
		}
	}
}
