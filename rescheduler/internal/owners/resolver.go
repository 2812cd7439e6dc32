package owners

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	expiring "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// deepest is the maximum number of owners in a chain.
	deepest = 8
	// closedFor is the delay before retrying to read a kind that this program is not allowed to list.
	closedFor = time.Minute
	// maxKinds is the maximum number of kinds for which a missing permission is remembered.
	maxKinds = 1024
)

// Resolver follows owner references. It starts to watch the metadata of a kind when it reads the first object of that kind. Until the cache
// has synced, it reads live.
type Resolver struct {
	cache  cache.Cache
	live   client.Reader
	ledger *Ledger
	// changed is called with owners whose annotations have changed.
	changed func(before, after metav1.Object)

	mu        sync.Mutex
	informers map[schema.GroupVersionKind]cache.Informer
	closed    *expiring.LRUExpireCache // kinds that it is not allowed to list
}

// NewResolver returns a resolver that reads from a cache, and live until the cache has synced. Newer objects in the ledger take precedence.
func NewResolver(c cache.Cache, live client.Reader, clock clock.PassiveClock, ledger *Ledger) *Resolver {
	return &Resolver{
		cache: c, live: live, ledger: ledger,
		informers: map[schema.GroupVersionKind]cache.Informer{},
		closed:    expiring.NewLRUExpireCacheWithClock(maxKinds, clock),
	}
}

// Notify sets the function that is called with each owner whose annotations change. Call it before the first use.
func (r *Resolver) Notify(changed func(before, after metav1.Object)) { r.changed = changed }

// Live reads an owner from the API server, for callers that must see the latest write of another process.
func (r *Resolver) Live(ctx context.Context, owner *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	fresh := metadataOf(owner.GroupVersionKind())
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(owner), fresh); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", owner.Kind, owner.Name, err)
	}
	return fresh, nil
}

// Of returns an object's owners. The chain ends before an owner that was deleted, whose kind is not served by the cluster, or that this
// program is not allowed to list. The last owner that could be read is the root.
func (r *Resolver) Of(ctx context.Context, o metav1.Object) (Chain, error) {
	var chain Chain
	for range deepest {
		ref := metav1.GetControllerOf(o)
		if ref == nil {
			break
		}
		owner, err := r.get(ctx, o.GetNamespace(), ref)
		if err != nil {
			return nil, fmt.Errorf("reading the owner %s %s: %w", ref.Kind, ref.Name, err)
		}
		if owner == nil || owner.UID != ref.UID {
			break
		}
		chain = append(chain, owner)
		o = owner
	}
	return chain, nil
}

// get returns an owner, or nil if it cannot be read.
func (r *Resolver) get(ctx context.Context, namespace string, ref *metav1.OwnerReference) (*metav1.PartialObjectMetadata, error) {
	group, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, nil
	}
	kind := group.WithKind(ref.Kind)
	if _, closed := r.closed.Get(kind); closed || kind == (schema.GroupVersionKind{Version: "v1", Kind: "Node"}) {
		return nil, nil
	}
	found, err := r.read(ctx, kind, client.ObjectKey{Namespace: namespace, Name: ref.Name}, string(ref.UID))
	switch {
	case err == nil:
		return r.ledger.Latest(found), nil
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err) || meta.IsNoMatchError(err):
		r.closed.Add(kind, nil, closedFor)
		return nil, nil
	}
	return nil, err
}

// read reads from the cache. It reads live if the cache has not synced or does not contain the object that the pod names as its owner.
func (r *Resolver) read(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, uid string) (*metav1.PartialObjectMetadata, error) {
	informer, err := r.informer(ctx, kind)
	if err != nil {
		return nil, err
	}
	if informer.HasSynced() {
		o := cached(kind)
		err := r.cache.Get(ctx, key, o)
		if err == nil && string(o.GetUID()) == uid {
			m := meta.AsPartialObjectMetadata(o)
			m.SetGroupVersionKind(kind)
			return m, nil
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	o := metadataOf(kind)
	if err := r.live.Get(ctx, key, o); err != nil {
		return nil, err
	}
	return o, nil
}

// informer returns the informer of a kind and starts it if necessary. Without permission to list the kind, it would retry forever, so
// informer first lists one object.
func (r *Resolver) informer(ctx context.Context, kind schema.GroupVersionKind) (cache.Informer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if informer, started := r.informers[kind]; started {
		return informer, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.live.List(ctx, list, client.Limit(1)); err != nil {
		return nil, err
	}
	informer, err := r.cache.GetInformer(ctx, cached(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	if r.changed != nil {
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: r.updated}); err != nil {
			return nil, err
		}
	}
	r.informers[kind] = informer
	return informer, nil
}

// cached returns an empty object of a kind, as the cache contains it. Pods can be owners, too. They are all in the cache as pods, so their
// metadata is not cached separately.
func cached(kind schema.GroupVersionKind) client.Object {
	if kind == corev1.SchemeGroupVersion.WithKind("Pod") {
		return &corev1.Pod{}
	}
	return metadataOf(kind)
}

func metadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(kind)
	return o
}

func (r *Resolver) updated(before, after any) {
	b, ok := before.(metav1.Object)
	a, also := after.(metav1.Object)
	if ok && also && !maps.Equal(b.GetAnnotations(), a.GetAnnotations()) {
		r.changed(b, a)
	}
}

// remembered is the maximum number of objects in a Ledger. All others are read from the cache.
const remembered = 4096

// maxWaiting is the maximum number of pods that are woken when a lock is released. Others must be requeued.
const maxWaiting = 16

// Ledger holds the writes of this process until they are in the caches, so that they are used by the next decision about a workload and the
// next admission. It also serializes the decisions about one workload.
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

// Latest returns the object or the last written version, whichever is newer.
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
// decision is in progress, TryLock records the pod and returns false. unlock returns the pods that were recorded while the workload was
// locked.
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
