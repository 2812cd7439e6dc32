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

// Stop ends one container: its stop signal, and a kill after the grace period, in whole seconds rounded up. It returns
// when the container has exited. One that is gone is stopped.
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

// Remove deletes the records of exited containers. Removing what is gone is no error. The kubelet then starts a new one,
// whatever the exit code was: it takes a missing record for a container that was never started.
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
