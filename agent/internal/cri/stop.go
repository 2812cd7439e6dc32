package cri

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// Stop ends one container and returns when it has exited. It sends the stop signal, and kills the container after the
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

// Remove deletes the records of exited containers. Missing records are not an error. The kubelet then starts a
// new container whatever the exit code was, because it takes a missing record for a container that was never started.
func (c *Client) Remove(ctx context.Context, ids []string) error {
	var failed []error
	for _, id := range ids {
		if err := c.remove(ctx, id); err != nil && status.Code(err) != codes.NotFound {
			failed = append(failed, fmt.Errorf("removing container %s: %w", id, err))
		}
	}
	return errors.Join(failed...)
}

func (c *Client) remove(ctx context.Context, id string) error {
	ctx, cancel := within(ctx)
	defer cancel()
	_, err := c.rpc.RemoveContainer(ctx, &runtime.RemoveContainerRequest{ContainerId: id})
	return err
}
