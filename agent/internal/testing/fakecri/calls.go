package fakecri

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// calls implements the gRPC service, so that Runtime exports only methods that tests use.
type calls struct {
	runtime.UnimplementedRuntimeServiceServer
	r *Runtime
}

func (c *calls) Version(context.Context, *runtime.VersionRequest) (*runtime.VersionResponse, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	return &runtime.VersionResponse{RuntimeName: c.r.Name, RuntimeVersion: c.r.Version}, nil
}

func (c *calls) ListPodSandbox(ctx context.Context, q *runtime.ListPodSandboxRequest) (*runtime.ListPodSandboxResponse, error) {
	if err := c.r.wait(ctx); err != nil {
		return nil, err
	}
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	out := &runtime.ListPodSandboxResponse{}
	if q.Filter.LabelSelector["io.kubernetes.pod.uid"] != c.r.PodUID {
		return out, nil
	}
	for _, born := range c.r.Sandboxes {
		out.Items = append(out.Items, &runtime.PodSandbox{CreatedAt: born})
	}
	return out, nil
}

func (c *calls) ListContainers(ctx context.Context, q *runtime.ListContainersRequest) (*runtime.ListContainersResponse, error) {
	if err := c.r.wait(ctx); err != nil {
		return nil, err
	}
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	out := &runtime.ListContainersResponse{}
	labels := q.Filter.LabelSelector
	if labels["io.kubernetes.pod.uid"] != c.r.PodUID || labels["io.kubernetes.container.name"] != c.r.ContainerName {
		return out, nil
	}
	for _, one := range slices.Backward(c.r.containers) { // newest first, as containerd may
		out.Containers = append(out.Containers, &runtime.Container{Id: one.Id, State: one.State, CreatedAt: one.CreatedAt})
	}
	return out, nil
}

func (c *calls) ContainerStatus(_ context.Context, q *runtime.ContainerStatusRequest) (*runtime.ContainerStatusResponse, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	one := c.r.get(q.ContainerId)
	if one == nil {
		return nil, errNotFound
	}
	return &runtime.ContainerStatusResponse{Status: one}, nil
}

func (c *calls) StopContainer(_ context.Context, q *runtime.StopContainerRequest) (*runtime.StopContainerResponse, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	if c.r.get(q.ContainerId) == nil {
		return nil, errNotFound
	}
	c.r.Stops = append(c.r.Stops, q.ContainerId)
	c.r.exit(q.ContainerId, c.r.StopCode)
	return &runtime.StopContainerResponse{}, nil
}

func (c *calls) RemoveContainer(_ context.Context, q *runtime.RemoveContainerRequest) (*runtime.RemoveContainerResponse, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	if c.r.get(q.ContainerId) == nil {
		return nil, errNotFound
	}
	c.r.containers = slices.DeleteFunc(c.r.containers, func(s *runtime.ContainerStatus) bool { return s.Id == q.ContainerId })
	c.r.send(q.ContainerId, runtime.ContainerEventType_CONTAINER_DELETED_EVENT)
	return &runtime.RemoveContainerResponse{}, nil
}

func (c *calls) GetContainerEvents(_ *runtime.GetEventsRequest, s grpc.ServerStreamingServer[runtime.ContainerEventResponse]) error {
	c.r.mu.Lock()
	c.r.Subscribed++
	noEvents, cut, events := c.r.NoEvents, c.r.cut, make(chan *runtime.ContainerEventResponse, 100)
	c.r.streams[events] = true
	c.r.mu.Unlock()
	defer c.r.Change(func() { delete(c.r.streams, events) })
	if noEvents {
		return status.Error(codes.Unimplemented, "no events here")
	}
	for {
		select {
		case e := <-events:
			if err := s.Send(e); err != nil {
				return err
			}
		case <-cut:
			return status.Error(codes.Unavailable, "the stream is cut")
		case <-s.Context().Done():
			return nil
		}
	}
}

func (r *Runtime) send(id string, kind runtime.ContainerEventType) {
	if r.Silent {
		return
	}
	for events := range r.streams {
		events <- &runtime.ContainerEventResponse{
			ContainerId: id, ContainerEventType: kind,
			PodSandboxStatus: &runtime.PodSandboxStatus{Metadata: &runtime.PodSandboxMetadata{Uid: r.PodUID}},
		}
	}
}
