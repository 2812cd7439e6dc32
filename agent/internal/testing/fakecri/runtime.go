// Package fakecri is a container runtime for tests: a CRI server on a Unix socket that holds a single pod and acts as
// its kubelet.
package fakecri

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Runtime is the server. Set the fields before Serve, or through Change.
type Runtime struct {
	Name, Version string
	NoEvents      bool // GetContainerEvents is unimplemented
	Silent        bool // subscriptions are accepted, but no events are sent
	Hangs         bool // List calls never return
	Subscribed    int  // number of subscriptions to events

	PodUID, ContainerName string
	Sandboxes             []int64 // creation times, Unix nanoseconds
	StopCode              int32   // exit code of a stopped container
	Stops                 []string

	mu         sync.Mutex
	server     *grpc.Server
	containers []*runtime.ContainerStatus
	streams    map[chan *runtime.ContainerEventResponse]bool
	cut        chan struct{}
}

// New returns a runtime that holds a pod without containers.
func New(podUID, container string) *Runtime {
	return &Runtime{
		Name: "containerd", Version: "v2.2.1", PodUID: podUID, ContainerName: container, Sandboxes: []int64{time.Now().UnixNano()},
		StopCode: 143, streams: map[chan *runtime.ContainerEventResponse]bool{}, cut: make(chan struct{}),
	}
}

// Serve starts the server, which listens on a socket until Close is called.
func (r *Runtime) Serve(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	r.server = grpc.NewServer()
	runtime.RegisterRuntimeServiceServer(r.server, &calls{r: r})
	go r.server.Serve(l) //nolint:errcheck // ends with Close
	return nil
}

// Close stops the server and closes its connections.
func (r *Runtime) Close() { r.server.Stop() }

// Change sets fields while the server runs.
func (r *Runtime) Change(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
}

// CutEvents ends all event streams.
func (r *Runtime) CutEvents() {
	r.Change(func() {
		close(r.cut)
		r.cut = make(chan struct{})
	})
}

// Create adds a container that is not running yet.
func (r *Runtime) Create(id string) { r.Change(func() { r.create(id) }) }

func (r *Runtime) create(id string) {
	r.containers = append(r.containers, &runtime.ContainerStatus{
		Id: id, State: runtime.ContainerState_CONTAINER_CREATED, CreatedAt: time.Now().UnixNano(),
	})
}

// Start runs a container, creating it if it does not exist.
func (r *Runtime) Start(id string) {
	r.Change(func() {
		if r.get(id) == nil {
			r.create(id)
		}
		c := r.get(id)
		c.State, c.StartedAt = runtime.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano()
		r.send(id, runtime.ContainerEventType_CONTAINER_STARTED_EVENT)
	})
}

// Exit ends a container.
func (r *Runtime) Exit(id string, code int32) { r.Change(func() { r.exit(id, code) }) }

func (r *Runtime) exit(id string, code int32) {
	c := r.get(id)
	if c == nil || c.State == runtime.ContainerState_CONTAINER_EXITED {
		return
	}
	c.State, c.ExitCode, c.FinishedAt = runtime.ContainerState_CONTAINER_EXITED, code, time.Now().UnixNano()
	r.send(id, runtime.ContainerEventType_CONTAINER_STOPPED_EVENT)
}

// Newest returns the ID of the newest container, or "", and whether that container is running.
func (r *Runtime) Newest() (id string, running bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.containers) == 0 {
		return "", false
	}
	c := r.containers[len(r.containers)-1]
	return c.Id, c.State == runtime.ContainerState_CONTAINER_RUNNING
}

func (r *Runtime) get(id string) *runtime.ContainerStatus {
	for _, c := range r.containers {
		if c.Id == id {
			return c
		}
	}
	return nil
}

// wait blocks while the runtime hangs.
func (r *Runtime) wait(ctx context.Context) error {
	r.mu.Lock()
	hangs := r.Hangs
	r.mu.Unlock()
	if !hangs {
		return nil
	}
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

var errNotFound = status.Error(codes.NotFound, "no such container")
