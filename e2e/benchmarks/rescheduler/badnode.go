package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const badName = "bad"

// badNode rejects all pods, immediately or on release, like a kubelet whose device plugin is gone. It also records when
// pods are bound to other nodes.
type badNode struct {
	client *kubernetes.Clientset
	end    context.CancelFunc

	mu       sync.Mutex
	hold     bool
	held     []*corev1.Pod
	rejected map[string][]time.Time // by the pod's app label
	bound    map[string][]time.Time // to good nodes
	known    map[types.UID]bool
	work     chan *corev1.Pod
}

func playBadNode(ctx context.Context, client *kubernetes.Clientset) (*badNode, error) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: badName, Labels: map[string]string{"bench": "bad"}}}
	node, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	room := corev1.ResourceList{"cpu": resource.MustParse("1000"), "memory": resource.MustParse("10Ti"), "pods": resource.MustParse("10000")}
	node.Status.Capacity, node.Status.Allocatable = room, room
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if node, err = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	node.Spec.Taints = nil
	if _, err := client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	playing, end := context.WithCancel(context.WithoutCancel(ctx))
	b := &badNode{
		client: client, end: end, rejected: map[string][]time.Time{}, bound: map[string][]time.Time{}, known: map[types.UID]bool{},
		work: make(chan *corev1.Pod, 100000),
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { b.see(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { b.see(o.(*corev1.Pod)) },
	})
	if err != nil {
		end()
		return nil, err
	}
	factory.Start(playing.Done())
	factory.WaitForCacheSync(playing.Done())
	for range 32 {
		go b.rejectAll(playing)
	}
	return b, nil
}

func (b *badNode) stop() { b.end() }

// see handles a pod when it is first observed to be bound to a node.
func (b *badNode) see(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[pod.UID] {
		return
	}
	b.known[pod.UID] = true
	switch {
	case pod.Spec.NodeName != badName:
		b.bound[pod.Labels["app"]] = append(b.bound[pod.Labels["app"]], time.Now())
	case b.hold:
		b.held = append(b.held, pod)
	default:
		b.work <- pod
	}
}

func (b *badNode) rejectAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case pod := <-b.work:
			b.reject(ctx, pod)
		}
	}
}

func (b *badNode) reject(ctx context.Context, pod *corev1.Pod) {
	b.mu.Lock()
	b.rejected[pod.Labels["app"]] = append(b.rejected[pod.Labels["app"]], time.Now())
	b.mu.Unlock()
	now := metav1.Now()
	failed := pod.DeepCopy()
	failed.Status = corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", StartTime: &now,
		Message: "Pod was rejected: Allocate failed due to no healthy devices present",
	}
	_, _ = b.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, failed, metav1.UpdateOptions{}) // the pod may already be gone
}

// keep makes the node hold new pods without rejecting them.
func (b *badNode) keep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hold = true
}

func (b *badNode) holds() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.held)
}

// release rejects all held pods, and makes the node reject new ones immediately.
func (b *badNode) release() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hold = false
	for _, pod := range b.held {
		b.work <- pod
	}
	b.held = nil
	return time.Now()
}

func (b *badNode) times(app string) (rejected, bound []time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]time.Time(nil), b.rejected[app]...), append([]time.Time(nil), b.bound[app]...)
}
