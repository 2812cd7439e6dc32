package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// part is the state of one pod: its life, and how much of it the API server knows.
type part struct {
	mu      sync.Mutex
	uid     types.UID
	pod     *corev1.Pod // as last observed
	life    *Life
	address string
	seen    map[string]string // annotations at the last sync
	written int
	ended   bool // Ended was called
	deleted bool
}

// retryAfter is the pause after a failed API call.
const retryAfter = 500 * time.Millisecond

// play starts the informer and the workers, and returns once the existing pods are known.
func (f *Nodes) play(ctx, playing context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(f.watcher, 0,
		informers.WithTransform(strip),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
		}))
	informer := factory.Core().V1().Pods().Informer()
	f.pods = informer.GetStore()
	if _, err := informer.AddEventHandler(cache.FilteringResourceEventHandler{
		FilterFunc: f.ours,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    f.enqueue,
			UpdateFunc: func(_, pod any) { f.enqueue(pod) },
			DeleteFunc: f.enqueue,
		},
	}); err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	f.running.Go(func() { informer.Run(playing.Done()) })
	for range f.options.Workers {
		f.running.Go(func() { f.work(playing, f.queue, f.advance) })
		f.running.Go(func() { f.work(playing, f.reports, f.report) })
	}
	if f.options.Heartbeat > 0 {
		f.running.Go(func() { f.beat(playing) })
	}
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("listing pods: %w", ctx.Err())
	}
	return nil
}

// strip removes unused fields, so that thousands of pods need little memory.
func strip(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.Spec.Volumes, pod.Spec.Affinity = nil, nil
	}
	return object, nil
}

func (f *Nodes) ours(object any) bool {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	return ok && f.nodes[pod.Spec.NodeName] != nil
}

func (f *Nodes) enqueue(object any) {
	name, err := cache.DeletionHandlingObjectToName(object)
	if err == nil {
		f.queue.Add(types.NamespacedName{Namespace: name.Namespace, Name: name.Name})
	}
}

// work processes one of the queues.
func (f *Nodes) work(ctx context.Context, queue workqueue.TypedDelayingInterface[types.NamespacedName],
	do func(context.Context, types.NamespacedName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := do(ctx, key); err != nil && ctx.Err() == nil {
			f.failed(err)
			queue.AddAfter(key, retryAfter)
		}
		queue.Done(key)
	}
}

// advance advances a pod's life to the present. It only queues the report to the API server, because a kubelet's
// containers do not wait for its reports either.
func (f *Nodes) advance(_ context.Context, key types.NamespacedName) error {
	pod, err := f.pod(key)
	if pod == nil {
		f.forget(key)
		return err
	}
	p := f.partOf(key, pod)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pod = pod
	now := time.Now()
	if pod.DeletionTimestamp != nil {
		p.life.Stop(now)
	}
	if !maps.Equal(p.seen, pod.Annotations) {
		p.seen = pod.Annotations
		p.life.Look(now)
	}
	p.life.Advance(now)
	f.tell(pod, p)
	if p.life.Version() != p.written || p.life.Gone() && !p.deleted {
		f.reports.Add(key)
	}
	if next, ok := p.life.Next(); ok {
		f.queue.AddAfter(key, time.Until(next))
	}
	return nil
}

// tell calls Observe and Ended for what has happened in a life.
func (f *Nodes) tell(pod *corev1.Pod, p *part) {
	for _, start := range p.life.TakeStarts() {
		if f.options.Observe != nil {
			f.options.Observe(pod, start)
		}
	}
	if p.life.Gone() {
		f.end(pod, p)
	}
}

// pod returns nil if there is no pod of that name.
func (f *Nodes) pod(key types.NamespacedName) (*corev1.Pod, error) {
	object, exists, err := f.pods.GetByKey(key.String())
	if err != nil || !exists {
		return nil, err
	}
	return object.(*corev1.Pod), nil
}

// report writes the state of a pod's life to the API server.
func (f *Nodes) report(ctx context.Context, key types.NamespacedName) error {
	pod, err := f.pod(key)
	if pod == nil {
		return err
	}
	return f.write(ctx, pod, f.partOf(key, pod), time.Now())
}

// forget drops the state of a pod that is gone. If a pod was removed before it could be stopped, its removal counts as
// its end.
func (f *Nodes) forget(key types.NamespacedName) {
	f.mu.Lock()
	p := f.parts[key]
	delete(f.parts, key)
	f.mu.Unlock()
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f.end(p.pod, p)
}

// end calls Ended once.
func (f *Nodes) end(pod *corev1.Pod, p *part) {
	if p.ended {
		return
	}
	p.ended = true
	if f.options.Ended != nil {
		f.options.Ended(pod)
	}
}

// partOf returns the pod's part. It creates a new one if the name now belongs to another pod.
func (f *Nodes) partOf(key types.NamespacedName, pod *corev1.Pod) *part {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.parts[key]; p != nil && p.uid == pod.UID {
		return p
	}
	// An invalid annotation counts as absent, because a kubelet also ignores what it does not know.
	shape, _ := ShapeOf(pod)
	p := &part{uid: pod.UID, pod: pod, address: pod.Status.PodIP, seen: pod.Annotations, written: -1}
	if p.address == "" {
		p.address = podAddress(f.addresses.Add(1))
	}
	p.life = Resume(time.Now(), pod, shape, *f.options.Rules, rand.Float64)
	if len(pod.Status.ContainerStatuses) > 0 || p.life.Phase() == corev1.PodPending {
		p.written = p.life.Version() // the API server has this state already
	}
	f.parts[key] = p
	return p
}

// write reports changes, and the end of the pod. It is never called concurrently for the same pod.
func (f *Nodes) write(ctx context.Context, pod *corev1.Pod, p *part, now time.Time) error {
	p.mu.Lock()
	version, gone := p.life.Version(), p.life.Gone()
	status := p.life.Status(pod, now, Addresses{Host: f.hosts[pod.Spec.NodeName], Pod: p.address})
	news, deleted := version != p.written, p.deleted
	p.mu.Unlock()
	if deleted {
		return nil
	}
	if news {
		patch, err := statusPatch(pod, status)
		if err != nil {
			return err
		}
		_, err = f.writer(pod).CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, "status")
		if err != nil && !over(err) {
			return fmt.Errorf("reporting pod %s: %w", pod.Name, err)
		}
		p.mu.Lock()
		p.written = version
		p.mu.Unlock()
	}
	if !gone {
		return nil
	}
	zero := int64(0)
	err := f.writer(pod).CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &p.uid},
	})
	if err != nil && !over(err) {
		return fmt.Errorf("removing pod %s: %w", pod.Name, err)
	}
	p.mu.Lock()
	p.deleted = true
	p.mu.Unlock()
	return nil
}

// over reports whether an API error means that the pod is gone, or that its name belongs to another pod.
func over(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// statusPatch includes the UID, so that it never changes another pod of the same name.
func statusPatch(pod *corev1.Pod, status corev1.PodStatus) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return nil, fmt.Errorf("rendering the status of pod %s: %w", pod.Name, err)
	}
	return patch, nil
}
