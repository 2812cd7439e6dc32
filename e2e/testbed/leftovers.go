package testbed

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/testbed/host"
	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// Leftovers lists what the testbed has left on this host: processes, mounts, devices, rules, control groups,
// directories. After Down the list is empty.
func Leftovers(ctx context.Context) ([]string, error) {
	layout, err := NewLayout()
	if err != nil {
		return nil, err
	}
	var left []string
	add := func(kind string, names ...string) {
		for _, name := range names {
			left = append(left, kind+" "+name)
		}
	}
	for _, found := range layout.processes() {
		add("process", found.String())
	}
	add("mount", mountsBelow(append(mountPoints(), layout.State(), runDir)...)...)
	add("device", host.Bridges(bridgePrefix)...)
	if host.HasTable(ctx, "ip", redirectTable) {
		add("nftables table", redirectTable)
	}
	add("cgroup", rootGroup.Dirs()...)
	for _, dir := range []string{layout.State(), runDir} {
		if _, err := os.Lstat(dir); err == nil {
			add("folder", dir)
		}
	}
	return left, nil
}

// DownClean is like Down, but also checks the result: its error lists what is left on this host.
func DownClean(ctx context.Context, progress io.Writer) error {
	if err := Down(ctx, false, progress); err != nil {
		return err
	}
	left, err := Leftovers(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("the testbed left on this host:\n%s", strings.Join(left, "\n"))
	}
	return err
}

// ownPrograms lists the names of the programs that the testbed runs. Other programs that merely use one of its
// directories, such as a user's shell or kubectl, must not be killed.
var ownPrograms = []string{
	etcd, "valkey-server", apiServer, controllerManager, scheduler, kubeProxy, coreDNS, prometheusName, kueueName,
	"kubelet", "containerd", "containerd-shim-runc-v2", "pause", "unshare", "nsenter",
}

// processes returns the members of the testbed's cgroup, and its programs that are running in its directories.
func (l Layout) processes() []process.Found {
	members := map[int]bool{}
	for _, pid := range rootGroup.Pids() {
		members[pid] = true
	}
	return process.Scan(func(f process.Found) bool { return members[f.ID.PID] || l.runsHere(f) })
}

// runsHere checks the directories that a program uses. The path of its binary is not sufficient: tests run their own
// API servers from the same directory.
func (l Layout) runsHere(f process.Found) bool {
	program := filepath.Base(f.Exe)
	f.Exe, f.Args = "", slices.Clone(f.Args[min(1, len(f.Args)):])
	return slices.Contains(ownPrograms, program) && f.Uses(l.State(), runDir)
}
