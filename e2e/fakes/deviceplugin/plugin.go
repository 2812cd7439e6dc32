// Package deviceplugin simulates a device plugin on a node of the testbed. The node offers devices, and the test
// decides what happens when a pod requests one. The kubelet uses it like a real plugin, through the v1beta1 API.
package deviceplugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Plugin serves one resource of one node.
type Plugin struct {
	api.UnimplementedDevicePluginServer
	// Resource is the name that containers request, such as nvidia.com/gpu.
	Resource string
	// Number is the number of devices. All are healthy.
	Number int
	// Refuse is the reason why no container gets a device; nil if all containers get one. The kubelet then rejects the
	// pod with the reason UnexpectedAdmissionError.
	Refuse error
}

// Serve registers the plugin in folder, which is the kubelet's folder for device plugins, and serves until stop is
// called.
func (p *Plugin) Serve(ctx context.Context, folder string) (stop func(), err error) {
	name := filepath.Base(p.Resource) + ".sock"
	socket := filepath.Join(folder, name)
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing the socket of an earlier run: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listening for the kubelet: %w", err)
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	if err := p.register(ctx, filepath.Join(folder, filepath.Base(api.KubeletSocket)), name); err != nil {
		server.Stop()
		return nil, err
	}
	return server.Stop, nil
}

func (p *Plugin) register(ctx context.Context, kubelet, endpoint string) error {
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connecting to the kubelet: %w", err)
	}
	defer connection.Close()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: p.Resource, Options: &api.DevicePluginOptions{},
	}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("registering %s with the kubelet: %w", p.Resource, err)
	}
	return nil
}

// GetDevicePluginOptions returns no options.
func (p *Plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch lists the devices once, because they do not change.
func (p *Plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	devices := make([]*api.Device, p.Number)
	for i := range devices {
		devices[i] = &api.Device{ID: fmt.Sprintf("device-%d", i), Health: api.Healthy}
	}
	if err := stream.Send(&api.ListAndWatchResponse{Devices: devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// Allocate gives containers their devices, or fails with Refuse.
func (p *Plugin) Allocate(_ context.Context, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	if p.Refuse != nil {
		return nil, p.Refuse
	}
	answers := make([]*api.ContainerAllocateResponse, len(r.ContainerRequests))
	for i := range answers {
		answers[i] = &api.ContainerAllocateResponse{}
	}
	return &api.AllocateResponse{ContainerResponses: answers}, nil
}
