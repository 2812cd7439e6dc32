package testbed

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/holdfast-project/holdfast/e2e/testbed/cgroup"
	"github.com/holdfast-project/holdfast/e2e/testbed/host"
)

// node is one real node: a kubelet and a containerd in their own mount namespace, with a bridge for its pods.
type node struct {
	number int // from 1
	layout Layout
}

func (l Layout) nodes(count int) []node {
	nodes := make([]node, count)
	for i := range nodes {
		nodes[i] = node{number: i + 1, layout: l}
	}
	return nodes
}

func (n node) name() string    { return fmt.Sprintf("node-%d", n.number) }
func (n node) address() string { return fmt.Sprintf("10.88.%d.1", n.number) }
func (n node) subnet() string  { return fmt.Sprintf("10.88.%d.0/24", n.number) }

func (n node) bridge() host.Bridge {
	return host.Bridge{
		Name:    bridgePrefix + n.name(),
		MAC:     fmt.Sprintf("0a:58:0a:58:%02x:01", n.number),
		Address: n.address() + "/24",
	}
}

// group contains the node's programs and pods. Programs and pods have separate subgroups, because on cgroup version 2 a
// group can have either members or children.
func (n node) group() cgroup.Group       { return rootGroup + "/" + cgroup.Group(n.name()) }
func (n node) systemGroup() cgroup.Group { return n.group() + "/system" }
func (n node) podsGroup() cgroup.Group   { return n.group() + "/pods" }

func (n node) dir(parts ...string) string {
	return n.layout.state(append([]string{"nodes", n.name()}, parts...)...)
}

// runtimeDir returns the directory that is mounted at /run/containerd inside the node.
func (n node) runtimeDir() string { return filepath.Join(runDir, n.name()) }

// socket returns the path of containerd's socket on the host. Pods mount it from its path inside the node:
// /run/containerd/containerd.sock.
func (n node) socket() string { return filepath.Join(n.runtimeDir(), "containerd.sock") }

// Names of the node's components.
func (n node) holder() string     { return n.name() }
func (n node) containerd() string { return n.name() + "-containerd" }
func (n node) kubelet() string    { return n.name() + "-kubelet" }

// ensureNode creates the cgroups, bridge and folders that the node's programs need.
func (u *up) ensureNode(ctx context.Context, n node) error {
	if !u.table.Get(n.holder()).ID.Alive() {
		// Containers that have outlived their namespace cannot be reused.
		if err := u.clearNode(ctx, n); err != nil {
			return err
		}
	}
	for _, group := range []cgroup.Group{n.systemGroup(), n.podsGroup()} {
		if err := group.Create(); err != nil {
			return err
		}
	}
	return n.bridge().Ensure(ctx)
}

// clearNode stops everything that is running on the node. Its images are kept.
func (u *up) clearNode(ctx context.Context, n node) error {
	if err := n.group().Kill(ctx); err != nil {
		return err
	}
	// A new kubelet would look for containers in every remaining cgroup.
	if err := n.group().Remove(ctx); err != nil {
		return err
	}
	for _, dir := range []string{n.runtimeDir(), n.dir("netns"), n.dir("cni")} {
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	return nil
}
