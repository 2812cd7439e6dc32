package appwrapper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// errKindGone means that the API server does not serve the kind, so it has no objects.
var errKindGone = errors.New("the kind is not served")

type reference struct {
	schema.GroupVersionKind
	types.NamespacedName
}

func (r reference) String() string { return r.Kind + " " + r.Name }

// kinds reads wrapped objects. It starts to watch a kind when the first object of that kind is read. If the controller is not allowed to
// watch a kind, its objects are read live. Pods come from the cache of all pods.
type kinds struct {
	cache     cache.Cache
	pods      client.Reader
	live      client.Reader
	discovery discovery.ServerResourcesInterface
	// finished records how wrapped objects finished. Its keys are of type owned, its values of type finishedObject. An object with a short
	// TTL is deleted soon after it finishes, and a component that disappears before it has finished is a failure. The records are lost when
	// the controller restarts, so admission warns about short TTLs.
	finished *lru.Cache

	mu      sync.Mutex
	queue   requeue.Queue
	watched map[schema.GroupVersionKind]cache.Informer
}

// start receives the controller's queue before the first reconcile.
func (k *kinds) start(_ context.Context, q requeue.Queue) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = q
	return nil
}

// object returns an empty object to read into. Metadata is enough for kinds whose status is not interpreted.
func (ref reference) object() client.Object {
	if ref.GroupKind() == health.Pod {
		return &corev1.Pod{}
	}
	if health.Known(ref.GroupKind()) {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(ref.GroupVersionKind)
		return o
	}
	return ref.metadata()
}

func (ref reference) metadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(ref.GroupVersionKind)
	o.SetNamespace(ref.Namespace)
	o.SetName(ref.Name)
	return o
}

// get reads an object live, or from the cache if the cache has synced. It returns errKindGone or an error from client.Get.
func (k *kinds) get(ctx context.Context, ref reference, live bool) (client.Object, error) {
	from := k.live
	switch {
	case ref.GroupKind() != health.Pod:
		informer, err := k.informer(ctx, ref)
		if meta.IsNoMatchError(err) {
			return nil, errKindGone
		}
		if err != nil {
			return nil, err
		}
		if !live && informer.HasSynced() {
			from = k.cache
		}
	case !live:
		from = k.pods
	}
	o := ref.object()
	if err := from.Get(ctx, ref.NamespacedName, o); err != nil {
		return nil, k.classify(ctx, ref.GroupVersionKind, err)
	}
	return o, nil
}

// informer returns the informer of the kind and starts it on first use. It does not wait for the informer to sync, which never happens if
// the controller is not allowed to list the kind.
func (k *kinds) informer(ctx context.Context, ref reference) (cache.Informer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if informer := k.watched[ref.GroupVersionKind]; informer != nil {
		return informer, nil
	}
	informer, err := k.cache.GetInformer(ctx, ref.object(), cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    k.enqueue,
			UpdateFunc: func(_, o any) { k.enqueue(o) },
			DeleteFunc: k.deleted,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", ref.GroupVersionKind, err)
	}
	k.watched[ref.GroupVersionKind] = informer
	return informer, nil
}

// deleted records the last state of a deleted object, which can no longer be read.
func (k *kinds) deleted(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		if owner := requeue.Controller(u, kind); owner != nil {
			k.record(owner.UID, referenceTo(u), u, health.Of(u))
		}
	}
	k.enqueue(o)
}

func (k *kinds) enqueue(o any) {
	if object, ok := o.(metav1.Object); ok {
		requeue.AddController(k.queue, object, kind, 0)
	}
}

// classify distinguishes an object that does not exist from a kind that is not served. The API server answers both with 404.
func (k *kinds) classify(ctx context.Context, kind schema.GroupVersionKind, err error) error {
	if meta.IsNoMatchError(err) {
		return k.forget(ctx, kind)
	}
	if !apierrors.IsNotFound(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) { // not a 404 about the URL path
		return err
	}
	served, askErr := k.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if askErr != nil && !apierrors.IsNotFound(askErr) {
		return fmt.Errorf("checking whether %s is served: %w", kind, askErr)
	}
	if askErr == nil && slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }) {
		return fmt.Errorf("%s is served, but was not found: %s", kind, err.Error())
	}
	return k.forget(ctx, kind)
}

// forget stops watching a kind that is no longer served, so that a new watch is started if the kind is served again.
func (k *kinds) forget(ctx context.Context, kind schema.GroupVersionKind) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watched[kind] != nil {
		delete(k.watched, kind)
		if err := k.cache.RemoveInformer(ctx, reference{GroupVersionKind: kind}.object()); err != nil {
			return fmt.Errorf("stopping the watch of %s: %w", kind, err)
		}
	}
	return errKindGone
}

// maxFinishedObjects limits the number of records. A record is needed only between a deletion and the next reconcile.
const maxFinishedObjects = 4096

// owned identifies a wrapped object of a workload. Objects of different attempts may have the same name.
type owned struct {
	owner types.UID
	reference
}

type finishedObject struct {
	created time.Time
	report  health.Report
}

func (k *kinds) record(owner types.UID, ref reference, object client.Object, report health.Report) {
	if report.Ended() {
		k.finished.Add(owned{owner, ref}, finishedObject{object.GetCreationTimestamp().Time, report})
	}
}

// finalReport returns the final report of a component's object if the object was created in the attempt that started at the given time.
func (k *kinds) finalReport(owner types.UID, ref reference, attempt time.Time) health.Report {
	found, _ := k.finished.Get(owned{owner, ref})
	if last, ok := found.(finishedObject); ok && !last.created.Before(attempt.Truncate(time.Second)) {
		return last.report
	}
	return health.Report{}
}
