package cri

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/holdfast-project/holdfast/shared/coordination/worker"
	"github.com/holdfast-project/holdfast/shared/history"
)

// Observe returns all containers of the worker, including exited ones. Its errors say how an operator can fix the
// problem.
func (c *Client) Observe(ctx context.Context) (worker.Observed, error) {
	o, err := c.observe(ctx)
	if err != nil {
		err = fmt.Errorf("container runtime at %s: %w; mount the socket of the kubelet's container runtime there (volume cri-socket, hostPath of type Socket), or set --cri-socket-path",
			c.options.Socket, err)
	}
	return o, err
}

func (c *Client) observe(ctx context.Context) (worker.Observed, error) {
	if err := c.findPod(ctx); err != nil {
		return worker.Observed{}, err
	}
	r, err := c.rpc.ListContainers(ctx, &runtime.ListContainersRequest{
		Filter: &runtime.ContainerFilter{LabelSelector: map[string]string{
			labelPodUID: c.options.PodUID, labelContainer: c.options.ContainerName,
		}},
	})
	if err != nil {
		return worker.Observed{}, fmt.Errorf("listing the worker's containers: %w", err)
	}
	var o worker.Observed
	for _, one := range r.Containers {
		w, known, err := c.worker(ctx, one)
		if err != nil {
			return worker.Observed{}, fmt.Errorf("reading the status of container %s: %w", one.Id, err)
		}
		if known {
			o.Processes = append(o.Processes, w)
		}
	}
	maps.DeleteFunc(c.exited, func(id string, _ worker.Process) bool {
		return !slices.ContainsFunc(r.Containers, func(one *runtime.Container) bool { return one.Id == id })
	})
	return o, nil
}

// findPod checks that the runtime knows the pod. Once it has found the pod, it does not check again.
func (c *Client) findPod(ctx context.Context) error {
	if c.found {
		return nil
	}
	r, err := c.rpc.ListPodSandbox(ctx, &runtime.ListPodSandboxRequest{
		Filter: &runtime.PodSandboxFilter{LabelSelector: map[string]string{labelPodUID: c.options.PodUID}},
	})
	if err != nil {
		return fmt.Errorf("listing the pod's sandboxes: %w", err)
	}
	if c.found = len(r.Items) > 0; !c.found {
		return fmt.Errorf("the runtime does not know pod %s, see --worker-pod-uid", c.options.PodUID)
	}
	return nil
}

// worker converts a container. known is false for a container that has not been started yet or has vanished since it
// was listed. A container in an unknown state does not count as exited.
func (c *Client) worker(ctx context.Context, one *runtime.Container) (w worker.Process, known bool, err error) {
	switch one.State {
	case runtime.ContainerState_CONTAINER_CREATED:
		return worker.Process{}, false, nil
	case runtime.ContainerState_CONTAINER_EXITED:
		return c.exit(ctx, one)
	default:
		return worker.Process{ID: one.Id, Born: micros(one.CreatedAt), Running: true}, true, nil
	}
}

func (c *Client) exit(ctx context.Context, one *runtime.Container) (w worker.Process, known bool, err error) {
	if w, ok := c.exited[one.Id]; ok {
		return w, true, nil
	}
	r, err := c.rpc.ContainerStatus(ctx, &runtime.ContainerStatusRequest{ContainerId: one.Id})
	if status.Code(err) == codes.NotFound {
		return worker.Process{}, false, nil
	}
	if err != nil {
		return worker.Process{}, false, err
	}
	w = worker.Process{
		ID: one.Id, Born: micros(one.CreatedAt), ExitCode: int64(r.GetStatus().GetExitCode()), FinishedAt: r.GetStatus().GetFinishedAt() / 1e6,
		Reason: history.ReasonOf(r.GetStatus().GetReason()),
	}
	c.exited[one.Id] = w
	return w, true, nil
}

func micros(nanos int64) int64 { return nanos / 1000 }
