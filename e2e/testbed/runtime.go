package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	cri "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	criclient "k8s.io/cri-client/pkg"
)

// runtimeReady returns an error until containers can be started.
func runtimeReady(ctx context.Context, n node) error {
	runtime, err := n.runtimeService(ctx)
	if err != nil {
		return err
	}
	defer runtime.Close(ctx)
	status, err := runtime.Status(ctx, false)
	if err != nil {
		return fmt.Errorf("reading the state of containerd: %w", err)
	}
	for _, condition := range status.GetStatus().GetConditions() {
		// Other conditions are only warnings, for example about the age of cgroup version 1.
		required := condition.GetType() == runtimeapi.RuntimeReady || condition.GetType() == runtimeapi.NetworkReady
		if required && !condition.GetStatus() {
			return fmt.Errorf("containerd: %s: %s", condition.GetType(), condition.GetMessage())
		}
	}
	return nil
}

const criTimeout = 30 * time.Second

func (n node) runtimeService(ctx context.Context) (cri.RuntimeService, error) {
	if _, err := os.Stat(n.socket()); err != nil {
		return nil, errors.New("containerd has no socket yet")
	}
	service, err := criclient.NewRemoteRuntimeService(ctx, "unix://"+n.socket(), criTimeout, nil, false)
	if err != nil {
		return nil, fmt.Errorf("connecting to containerd of %s: %w", n.name(), err)
	}
	return service, nil
}

// hasImage reports whether a node's containerd has the image.
func (n node) hasImage(ctx context.Context, name string) (bool, error) {
	service, err := criclient.NewRemoteImageService(ctx, "unix://"+n.socket(), criTimeout, nil, false)
	if err != nil {
		return false, fmt.Errorf("connecting to containerd of %s: %w", n.name(), err)
	}
	defer service.Close(ctx)
	status, err := service.ImageStatus(ctx, &runtimeapi.ImageSpec{Image: name}, false)
	if err != nil {
		return false, fmt.Errorf("looking up image %s: %w", name, err)
	}
	return status.GetImage() != nil, nil
}
