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
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
)

// errKindGone: the API server does not serve the kind any more, and so has none of its objects.
var errKindGone = errors.New("the kind is not served")

// reference to a wrapped object.
type reference struct {
	schema.GroupVersionKind
	types.NamespacedName
}

func (r reference) String() string { return r.Kind + " " + r.Name }

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// kinds watches the kinds of wrapped objects, from the first time that one is met. A kind that the controller may not watch is read
// live each time. Pods come from the cache that all pods of workloads are in.
type kinds struct {
	cache           cache.Cache
	pods            client.Reader
	live            client.Reader
	discovery       discovery.ServerResourcesInterface
	finishedObjects *finishedObjects

	mu      sync.Mutex
	queue   queue
	watched map[schema.GroupVersionKind]cache.Informer
}

func newKinds(o Options) *kinds {
	return &kinds{
		cache: o.Wrapped, pods: o.Client, live: o.Live, discovery: o.Discovery, finishedObjects: newFinishedObjects(),
		watched: map[schema.GroupVersionKind]cache.Informer{},
	}
}

// start is called with the queue of the controller before anything is reconciled.
func (k *kinds) start(_ context.Context, q queue) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = q
	return nil
}

// object to read one of the kind into. Of kinds whose status is not understood the metadata is enough.
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

// get reads an object, live or from the cache if it is in step. It returns errKindGone, and what Get of a client does.
func (k *kinds) get(ctx context.Context, ref reference, live bool) (client.Object, error) {
	o := ref.object()
	from, err := k.reader(ctx, ref, live)
	if err != nil {
		return nil, err
	}
	if err := from.Get(ctx, ref.NamespacedName, o); err != nil {
		return nil, k.classify(ctx, ref.GroupVersionKind, err)
	}
	return o, nil
}

// reader to read the object with: the API server, or a cache that is in step.
func (k *kinds) reader(ctx context.Context, ref reference, live bool) (client.Reader, error) {
	if ref.GroupKind() == health.Pod {
		if live {
			return k.live, nil
		}
		return k.pods, nil
	}
	informer, err := k.informer(ctx, ref)
	if meta.IsNoMatchError(err) {
		return nil, errKindGone
	}
	if err != nil {
		return nil, err
	}
	if !live && informer.HasSynced() {
		return k.cache, nil
	}
	return k.live, nil
}

// informer of the kind; its events begin with the first call. It does not wait for it: a kind that may not be listed never comes.
func (k *kinds) informer(ctx context.Context, ref reference) (cache.Informer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if informer := k.watched[ref.GroupVersionKind]; informer != nil {
		return informer, nil
	}
	informer, err := k.cache.GetInformer(ctx, ref.object(), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", ref.GroupVersionKind, err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    k.enqueue,
		UpdateFunc: func(_, o any) { k.enqueue(o) },
		DeleteFunc: k.deleted,
	})
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", ref.GroupVersionKind, err)
	}
	k.watched[ref.GroupVersionKind] = informer
	return informer, nil
}

// deleted remembers how the object ended, which nobody can read any more.
func (k *kinds) deleted(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		k.finishedObjects.recordDeleted(u)
	}
	k.enqueue(o)
}

func (k *kinds) enqueue(o any) {
	object, ok := o.(metav1.Object)
	if !ok {
		return
	}
	if owner := owningAppWrapper(object); owner != nil {
		k.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}})
	}
}

// classify tells an object that is not found from a kind that is not served: both answers have the same code.
func (k *kinds) classify(ctx context.Context, kind schema.GroupVersionKind, err error) error {
	if meta.IsNoMatchError(err) {
		return k.forget(ctx, kind)
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || !isGenericNotFound(status.Status()) {
		return err
	}
	served, askErr := k.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if askErr != nil && !apierrors.IsNotFound(askErr) {
		return fmt.Errorf("asking whether %s is served: %w", kind, askErr)
	}
	if askErr == nil && slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }) {
		return fmt.Errorf("%s is served, but was not found: %s", kind, err.Error())
	}
	return k.forget(ctx, kind)
}

// fromNobody: the answer is not that of a resource about one of its objects, but of the server about a path.
func isGenericNotFound(status metav1.Status) bool {
	return status.Details == nil || slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}

// forget stops the watch of a kind that is gone, so that it begins anew if the kind comes back.
func (k *kinds) forget(ctx context.Context, kind schema.GroupVersionKind) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watched[kind] != nil {
		delete(k.watched, kind)
		if err := k.cache.RemoveInformer(ctx, reference{GroupVersionKind: kind}.object()); err != nil {
			return fmt.Errorf("ending the watch of %s: %w", kind, err)
		}
	}
	return errKindGone
}

func owningAppWrapper(object metav1.Object) *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil || owner.Kind != v1beta2.Kind {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || gv.Group != v1beta2.GroupVersion.Group {
		return nil
	}
	return owner
}

// owns decides by UID: names are used again and anybody can write labels.
func owns(aw *v1beta2.AppWrapper, object metav1.Object) bool {
	return metav1.IsControlledBy(object, aw)
}

// endings remembers how wrapped objects ended. An object with a short time to live is gone soon after it says so, and a component that
// is gone without having ended is a failure. A restart loses them, which is why admission warns of such times.
type finishedObjects struct{ byObject *lru.Cache }

// mostEndings bounds the memory: an ending is wanted for the moment between the deletion and the next reconcile.
const maxFinishedObjects = 4096

func newFinishedObjects() *finishedObjects { return &finishedObjects{lru.New(maxFinishedObjects)} }

// owned is a wrapped object of a workload. The objects of all attempts may have the same name.
type owned struct {
	owner types.UID
	reference
}

// ending of the object that was created at the time.
type finishedObject struct {
	created time.Time
	report  health.Report
}

// note remembers the report of an object if its work has ended.
func (e *finishedObjects) record(owner types.UID, ref reference, object client.Object, report health.Report) {
	if report.Ended() {
		e.byObject.Add(owned{owner, ref}, finishedObject{object.GetCreationTimestamp().Time, report})
	}
}

// noteDeleted remembers the last report of an object that nobody can read any more.
func (e *finishedObjects) recordDeleted(object *unstructured.Unstructured) {
	if owner := owningAppWrapper(object); owner != nil {
		e.record(owner.UID, referenceTo(object), object, health.Of(object))
	}
}

// of returns how the object of a component ended, if it was created in the attempt that began at the time.
func (e *finishedObjects) of(owner types.UID, ref reference, attempt time.Time) health.Report {
	found, _ := e.byObject.Get(owned{owner, ref})
	if last, ok := found.(finishedObject); ok && !last.created.Before(attempt.Truncate(time.Second)) {
		return last.report
	}
	return health.Report{}
}

// forget how the object of a component ended: the next attempt creates another.
func (e *finishedObjects) forget(owner types.UID, ref reference) {
	e.byObject.Remove(owned{owner, ref})
}
