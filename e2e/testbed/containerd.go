package testbed

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

const (
	sandboxImage = "localhost/pause:1"
	// cniPlugins is the directory of Debian's CNI plugins.
	cniPlugins = "/usr/lib/cni"
)

// containerdConfig returns a configuration with the paths inside a node.
func containerdConfig(cniDir, snapshotter string) string {
	return fmt.Sprintf(`version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "/run/containerd/containerd.sock"

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"

# All nodes would use the same socket path on the host.
[plugins."io.containerd.nri.v1.nri"]
  disable = true

[plugins."io.containerd.cri.v1.images"]
  snapshotter = %[2]q
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = %[3]q

[plugins."io.containerd.cri.v1.runtime"]
  # A score below our own would require CAP_SYS_RESOURCE.
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

// cniConfig returns a configuration that connects pods to the node's bridge.
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

// snapshotter returns overlayfs, or native if the directory itself is on an overlay, as it is within
// containers.
func snapshotter(dir string) string {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err == nil && stat.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return "overlayfs"
}
