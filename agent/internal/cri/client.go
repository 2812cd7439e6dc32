// Package cri watches and stops a worker container through the socket of the node's container runtime.
//
// The runtime is asked for the containers with the pod's UID and the container's name in their labels, and for nothing
// else. Instances are identified by container ID and time of creation, never by a restart count: a removed record makes
// the kubelet use a number again.
package cri

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const (
	// callTimeout bounds every call but a stop.
	callTimeout = 2 * time.Second
	// stopSlack is how much longer than the grace period a stop may take.
	stopSlack = 25 * time.Second
	// maxMessage is what the kubelet allows as well: a list of a busy node is more than gRPC's 4 MiB.
	maxMessage = 16 << 20

	labelPodUID    = "io.kubernetes.pod.uid"
	labelContainer = "io.kubernetes.container.name"
)

// ErrNoPod means that the runtime answers and does not know the pod.
var ErrNoPod = errors.New("the runtime does not know this pod")

// Options say whose containers to watch, and where.
type Options struct {
	Socket          string // path
	PodUID          string
	ContainerName   string
	PollingInterval time.Duration // while there are no events
}

// Client is a driver of the agent. Observe must not be called concurrently with itself; the rest is safe.
type Client struct {
	options Options
	conn    *grpc.ClientConn
	rpc     runtime.RuntimeServiceClient

	found  bool                      // the pod
	exited map[string]worker.Process // an exit does not change any more

	live    atomic.Bool // events arrive
	backoff time.Duration
	safety  time.Duration
}

// New returns a client; it does not connect.
func New(o Options) (*Client, error) {
	conn, err := grpc.NewClient("unix://"+o.Socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: callTimeout,
		}))
	if err != nil {
		return nil, fmt.Errorf("the socket path %q: %w", o.Socket, err)
	}
	return &Client{
		options: o, conn: conn, rpc: runtime.NewRuntimeServiceClient(conn), exited: map[string]worker.Process{},
		backoff: time.Second, safety: max(safetyPoll, o.PollingInterval),
	}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Explain says what an operator can do about an error of Observe.
func (c *Client) Explain(err error) string {
	path := c.options.Socket
	const socket = "mount the socket of the runtime that the kubelet uses there (volume cri-socket, hostPath of type Socket), or set --cri-socket-path"
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(err, ErrNoPod):
		return fmt.Sprintf("%v: %s at %s; check --worker-pod-uid, and %s", err, c.options.PodUID, path, socket)
	case statErr != nil:
		return fmt.Sprintf("no socket of the container runtime: %v; %s", statErr, socket)
	case info.Mode()&os.ModeSocket == 0:
		return fmt.Sprintf("%s is not a socket; %s", path, socket)
	default:
		return fmt.Sprintf("the container runtime does not answer at %s: %v; %s", path, err, socket)
	}
}

func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, callTimeout)
}
