// Package cri watches and stops a worker container through the socket of the node's container runtime.
//
// It requests only containers whose labels contain the pod's UID and the container's name. It identifies instances by
// container ID and creation time, never by the kubelet's restart count, because the kubelet reuses a count once the
// record of a container has been removed.
package cri

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const (
	// callTimeout limits every call except Stop and the stream of events.
	callTimeout = 2 * time.Second
	// stopSlack is added to the grace period to get the timeout of a stop.
	stopSlack = 25 * time.Second
	// maxMessage matches the kubelet's limit. The container list of a busy node exceeds gRPC's default of 4 MiB.
	maxMessage = 16 << 20

	labelPodUID    = "io.kubernetes.pod.uid"
	labelContainer = "io.kubernetes.container.name"
)

// Options specify which containers to watch, and through which socket.
type Options struct {
	Socket          string // path
	PodUID          string
	ContainerName   string
	PollingInterval time.Duration // while no events arrive
}

// Client is the CRI driver of the agent. Observe must not be called concurrently with itself. The other methods are
// safe for concurrent use.
type Client struct {
	options Options
	conn    *grpc.ClientConn
	rpc     runtime.RuntimeServiceClient

	found  bool                      // the runtime knows the pod
	exited map[string]worker.Process // by container ID; an exit is final

	live    atomic.Bool // events arrive
	backoff time.Duration
	safety  time.Duration
}

// New returns a client. It does not connect yet.
func New(o Options) (*Client, error) {
	conn, err := grpc.NewClient("unix://"+o.Socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithUnaryInterceptor(limitCall),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: callTimeout,
		}))
	if err != nil {
		return nil, fmt.Errorf("creating a client for socket %q: %w", o.Socket, err)
	}
	return &Client{
		options: o, conn: conn, rpc: runtime.NewRuntimeServiceClient(conn), exited: map[string]worker.Process{},
		backoff: time.Second, safety: max(safetyPoll, o.PollingInterval),
	}, nil
}

func (c *Client) Close() error { return c.conn.Close() }

// limitCall applies callTimeout.
func limitCall(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if method != runtime.RuntimeService_StopContainer_FullMethodName {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	return call(ctx, method, request, reply, conn, options...)
}

// Stop stops one container and returns when it has exited. It sends the stop signal, and kills the container after the
// grace period, which is rounded up to whole seconds. A container that no longer exists counts as stopped.
func (c *Client) Stop(ctx context.Context, s worker.Stop) error {
	seconds := int64((s.Grace + time.Second - 1) / time.Second)
	ctx, cancel := context.WithTimeout(ctx, s.Grace+stopSlack)
	defer cancel()
	_, err := c.rpc.StopContainer(ctx, &runtime.StopContainerRequest{ContainerId: s.ID, Timeout: seconds})
	if err != nil && status.Code(err) != codes.NotFound {
		return fmt.Errorf("stopping container %s: %w", s.ID, err)
	}
	return nil
}

// Remove deletes the records of exited containers. Missing records are not an error. The kubelet then starts a new
// container regardless of the exit code, because it treats a container without a record as never started.
func (c *Client) Remove(ctx context.Context, ids []string) error {
	var failed []error
	for _, id := range ids {
		_, err := c.rpc.RemoveContainer(ctx, &runtime.RemoveContainerRequest{ContainerId: id})
		if err != nil && status.Code(err) != codes.NotFound {
			failed = append(failed, fmt.Errorf("removing container %s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}
