package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// nodePaths maps paths inside a node to directories below node.dir on the host.
var nodePaths = []struct{ inside, below string }{
	{"/var/lib/containerd", "containerd"},
	{"/var/lib/kubelet", "kubelet"},
	{"/var/lib/cni", "cni"},
	{"/var/log/pods", "log/pods"},
	{"/var/log/containers", "log/containers"},
	{"/run/netns", "netns"},
}

const runtimeInside = "/run/containerd"

// mountPoints returns the directories that must exist on the host, so that a node's directories can be mounted over
// them.
func mountPoints() []string {
	points := []string{runtimeInside}
	for _, path := range nodePaths {
		points = append(points, path.inside)
	}
	return points
}

// enter is a shell script that bind-mounts directories over others, given in pairs, and then becomes the pause program.
// Later mounts on the host are visible inside, but mounts made inside are never visible on the host.
const enter = `mount --make-rshared /
pause=$1; shift
while [ $# -gt 0 ]; do mount --bind "$1" "$2"; shift 2; done
exec "$pause"`

// mountNamespace returns the process that keeps the node's mount namespace.
func (u *up) mountNamespace(n node) (component, error) {
	pause := u.layout.program("pause")
	command := []string{
		"/usr/bin/unshare", "--mount", "--propagation", "slave",
		"/bin/sh", "-ec", enter, "sh", pause, n.runtimeDir(), runtimeInside,
	}
	folders := []string{n.runtimeDir()}
	for _, path := range nodePaths {
		command = append(command, n.dir(path.below), path.inside)
		folders = append(folders, n.dir(path.below))
	}
	for _, folder := range append(folders, mountPoints()...) {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return component{}, fmt.Errorf("creating the folders of %s: %w", n.name(), err)
		}
	}
	ready := func(context.Context) error {
		id := u.table.Get(n.holder()).ID
		if found, ok := process.Describe(id.PID); !ok || found.Exe != pause {
			return errors.New("the mounts are not complete")
		}
		return nil
	}
	// The binary is not one of the inputs, because a new binary would terminate the node's pods.
	spec := process.Spec{Name: n.holder(), Dir: n.dir(), Log: u.layout.Log(n.holder()), Group: n.systemGroup(), Command: command}
	return component{spec: spec, ready: ready}, nil
}

// inside returns a command that runs in the node's mount namespace. It contains the holder's PID, so that all programs
// of a node are restarted when its namespace is replaced.
func (u *up) inside(n node, command ...string) []string {
	target := fmt.Sprintf("--mount=/proc/%d/ns/mnt", u.table.Get(n.holder()).ID.PID)
	return append([]string{"/usr/bin/nsenter", target}, command...)
}
