package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ErrNotRunning means that the pod has no such running container.
var ErrNotRunning = errors.New("container is not running")

// Labels set by the kubelet on containers.
const (
	labelPodUID        = "io.kubernetes.pod.uid"
	labelContainerName = "io.kubernetes.container.name"
)

// ContainerPID returns the PID, on the host, of a running container's first process.
func (c *Cluster) ContainerPID(ctx context.Context, podUID, container string) (int, error) {
	for _, n := range c.layout.nodes(c.options.Nodes) {
		pid, err := n.containerPID(ctx, podUID, container)
		if !errors.Is(err, ErrNotRunning) {
			return pid, err
		}
	}
	return 0, fmt.Errorf("container %s of pod %s: %w", container, podUID, ErrNotRunning)
}

func (n node) containerPID(ctx context.Context, podUID, container string) (int, error) {
	runtime, err := n.runtimeService(ctx)
	if err != nil {
		return 0, err
	}
	defer runtime.Close(ctx)
	containers, err := runtime.ListContainers(ctx, &runtimeapi.ContainerFilter{
		State:         &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		LabelSelector: map[string]string{labelPodUID: podUID, labelContainerName: container},
	})
	if err != nil {
		return 0, fmt.Errorf("listing containers of %s: %w", n.name(), err)
	}
	if len(containers) == 0 {
		return 0, ErrNotRunning
	}
	status, err := runtime.ContainerStatus(ctx, containers[0].GetId(), true)
	if err != nil {
		return 0, fmt.Errorf("reading container %s: %w", containers[0].GetId(), err)
	}
	return parsePID(status.GetInfo()["info"])
}

// parsePID reads the PID from the details that containerd adds to a status.
func parsePID(info string) (int, error) {
	var details struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(info), &details); err != nil {
		return 0, fmt.Errorf("reading containerd's details: %w", err)
	}
	if details.PID <= 0 {
		return 0, ErrNotRunning
	}
	return details.PID, nil
}
