package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	criclient "k8s.io/cri-client/pkg"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

const (
	sandboxImage = "localhost/pause:1"
	// cniPlugins is where Debian puts them.
	cniPlugins = "/usr/lib/cni"
)

// containerdConfig has the paths of a node's inside.
func containerdConfig(cniDir, snapshotter string) string {
	return fmt.Sprintf(`version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "/run/containerd/containerd.sock"

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"

# Its socket has one path for the whole host.
[plugins."io.containerd.nri.v1.nri"]
  disable = true

[plugins."io.containerd.cri.v1.images"]
  snapshotter = %[2]q
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = %[3]q

[plugins."io.containerd.cri.v1.runtime"]
  # Without CAP_SYS_RESOURCE a score below our own cannot be set.
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [%[4]q]
    conf_dir = %[1]q
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "/usr/sbin/runc"
        SystemdCgroup = false
`, cniDir, snapshotter, sandboxImage, cniPlugins)
}

// cniConfig connects pods to the node's bridge.
func cniConfig(n node) string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": %q,
  "plugins": [{
    "type": "bridge",
    "bridge": %q,
    "isGateway": true,
    "hairpinMode": true,
    "ipam": {
      "type": "host-local",
      "ranges": [[{"subnet": %q}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`, n.name(), n.bridge().Name, n.subnet())
}

func (u *up) containerd(n node) (component, error) {
	cniDir, config := n.dir("config", "cni"), n.dir("config", "containerd.toml")
	content := containerdConfig(cniDir, snapshotter(n.layout.State()))
	if err := writeFile(config, content); err != nil {
		return component{}, err
	}
	if err := writeFile(cniDir+"/10-bridge.conflist", cniConfig(n)); err != nil {
		return component{}, err
	}
	stamps := []string{content, u.stamps["containerd"], u.stamps["containerd-shim-runc-v2"]}
	return component{
		spec: process.Spec{
			Name: n.containerd(), Dir: n.dir("containerd"), Log: u.layout.Log(n.containerd()), Group: n.systemGroup(),
			Command: u.inside(n, u.layout.program("containerd"), "--config", config),
			Inputs:  stamps,
		},
		ready: func(ctx context.Context) error { return runtimeReady(ctx, n) },
	}, nil
}

// snapshotter is overlayfs but on a root that is itself an overlay, as within
// containers.
func snapshotter(dir string) string {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err == nil && stat.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return "overlayfs"
}

// runtimeReady tells whether containers can be started.
func runtimeReady(ctx context.Context, n node) error {
	runtime, err := n.runtimeService(ctx)
	if err != nil {
		return err
	}
	defer runtime.Close(ctx)
	status, err := runtime.Status(ctx, false)
	if err != nil {
		return fmt.Errorf("asking containerd for its state: %w", err)
	}
	for _, condition := range status.GetStatus().GetConditions() {
		// Others are advice, on the age of cgroup version 1 for one.
		required := condition.GetType() == runtimeapi.RuntimeReady || condition.GetType() == runtimeapi.NetworkReady
		if required && !condition.GetStatus() {
			return fmt.Errorf("containerd: %s: %s", condition.GetType(), condition.GetMessage())
		}
	}
	return nil
}

const criTimeout = 10 * time.Second

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

// hasImage tells whether a node's containerd knows the image.
func (n node) hasImage(ctx context.Context, name string) (bool, error) {
	service, err := criclient.NewRemoteImageService(ctx, "unix://"+n.socket(), criTimeout, nil, false)
	if err != nil {
		return false, fmt.Errorf("connecting to containerd of %s: %w", n.name(), err)
	}
	defer service.Close(ctx)
	status, err := service.ImageStatus(ctx, &runtimeapi.ImageSpec{Image: name}, false)
	if err != nil {
		return false, fmt.Errorf("asking for image %s: %w", name, err)
	}
	return status.GetImage() != nil, nil
}
