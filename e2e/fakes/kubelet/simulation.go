package kubelet

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Nodes simulates nodes and the pods bound to them.
type Nodes struct {
	options Options
	client  kubernetes.Interface    // for nodes and leases
	watcher kubernetes.Interface    // only for the informer of pods
	writers []kubernetes.Interface  // for reports about pods
	nodes   map[string]*corev1.Node // as registered; fixed once Start has returned
	hosts   map[string]string       // addresses of the nodes
	pods    cache.Store
	queue   workqueue.TypedDelayingInterface[types.NamespacedName] // lives to advance
	reports workqueue.TypedDelayingInterface[types.NamespacedName] // pods to report to the API server; their lives continue meanwhile
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	parts map[types.NamespacedName]*part

	addresses atomic.Uint32 // number of addresses given to pods so far
	repeated  atomic.Int64
	lastError atomic.Pointer[error]
}

// Start registers the nodes and simulates them until Close. It returns once all nodes accept pods. It takes over a
// simulation of the same name that another process has left behind: it removes surplus nodes and continues the pods.
func Start(ctx context.Context, config *rest.Config, options Options) (*Nodes, error) {
	options = options.defaulted()
	if err := options.validate(); err != nil {
		return nil, err
	}
	clients, err := newClients(config, 2+writers)
	if err != nil {
		return nil, err
	}
	f := &Nodes{
		options: options,
		client:  clients[0],
		watcher: clients[1],
		writers: clients[2:],
		nodes:   map[string]*corev1.Node{},
		hosts:   map[string]string{},
		queue:   workqueue.NewTypedDelayingQueue[types.NamespacedName](),
		reports: workqueue.NewTypedDelayingQueue[types.NamespacedName](),
		parts:   map[types.NamespacedName]*part{},
	}
	if err := f.removeNodes(ctx, options.Nodes); err != nil {
		return nil, err
	}
	if err := f.register(ctx); err != nil {
		return nil, err
	}
	// The simulation outlives the context passed to Start.
	playing, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = stop
	if err := f.play(ctx, playing); err != nil {
		f.Close()
		return nil, err
	}
	if err := f.awaitNodes(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// writers is the number of connections shared by the reports of all pods. Each real kubelet has its own connection. On
// a single connection, a report would wait behind those of all other pods.
const writers = 16

// newClients returns clients that each have their own connection. They use protobuf and are not throttled, because real
// kubelets do not wait for each other either.
func newClients(config *rest.Config, n int) ([]kubernetes.Interface, error) {
	var clients []kubernetes.Interface
	for range n {
		own := rest.CopyConfig(config)
		own.ContentType = runtime.ContentTypeProtobuf
		own.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
		own.QPS = -1
		own.UserAgent = "holdfast-simulated"
		own.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext // without its own dialer, a client shares a connection
		client, err := kubernetes.NewForConfig(own)
		if err != nil {
			return nil, fmt.Errorf("preparing the simulated nodes' clients: %w", err)
		}
		clients = append(clients, client)
	}
	return clients, nil
}

const dialTimeout = 30 * time.Second

// writer returns the client for reports about a pod.
func (f *Nodes) writer(pod *corev1.Pod) kubernetes.Interface {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pod.Spec.NodeName))
	return f.writers[h.Sum32()%uint32(len(f.writers))]
}

// NodeNames returns the names of the nodes, in order.
func (f *Nodes) NodeNames() []string {
	var names []string
	for i := range f.options.Nodes {
		names = append(names, f.options.nodeName(i))
	}
	return names
}

// Repeated returns the number of failed API calls that are retried, and the last error.
func (f *Nodes) Repeated() (int64, error) {
	if last := f.lastError.Load(); last != nil {
		return f.repeated.Load(), *last
	}
	return 0, nil
}

func (f *Nodes) failed(err error) {
	f.repeated.Add(1)
	f.lastError.Store(&err)
}

// Exit ends a container of a pod as if its process had exited with the code. An empty name means the first container
// that is not a sidecar. It returns ErrNotRunning if the container is not running.
func (f *Nodes) Exit(pod types.NamespacedName, container string, code int32) error {
	return f.touch(pod, func(l *Life) error { return l.Exit(time.Now(), container, code) })
}

// RemoveRecord removes the runtime's record of a container's last exit. See Life.RemoveRecord. It returns ErrNotRunning
// if there is no such pod.
func (f *Nodes) RemoveRecord(pod types.NamespacedName, container string) error {
	return f.touch(pod, func(l *Life) error { l.RemoveRecord(time.Now(), container); return nil })
}

func (f *Nodes) touch(pod types.NamespacedName, do func(*Life) error) error {
	f.mu.Lock()
	p := f.parts[pod]
	f.mu.Unlock()
	if p == nil {
		return fmt.Errorf("pod %s: %w", pod, ErrNotRunning)
	}
	p.mu.Lock()
	err := do(p.life)
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("pod %s: %w", pod, err)
	}
	f.queue.Add(pod)
	return nil
}

// Forgive resets the back-off of all containers, as kubelets do after ten minutes.
func (f *Nodes) Forgive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.parts {
		p.mu.Lock()
		p.life.Forgive()
		p.mu.Unlock()
	}
}

// Unreported returns how many pods have changes that have not been reported to the API server.
func (f *Nodes) Unreported() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, p := range f.parts {
		p.mu.Lock()
		if p.life.Version() != p.written {
			n++
		}
		p.mu.Unlock()
	}
	return n
}

// Close ends the simulation. The objects stay as they are, and the nodes become unready after a while.
func (f *Nodes) Close() {
	f.stop()
	f.queue.ShutDown()
	f.reports.ShutDown()
	f.running.Wait()
}

// Remove deletes the nodes and their pods, then calls Close.
func (f *Nodes) Remove(ctx context.Context) error {
	defer f.Close()
	return errors.Join(f.removeNodes(ctx, 0), f.removePods(ctx))
}
