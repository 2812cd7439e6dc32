package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMounts(t *testing.T) {
	const table = `proc /proc proc rw 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
tmpfs /sys/fs/cgroup tmpfs rw 0 0
`
	want := []Mount{
		{Path: "/sys/fs/cgroup/cpu", Options: []string{"rw", "relatime", "cpu"}},
		{Path: "/sys/fs/cgroup/unified", V2: true, Options: []string{"rw", "relatime"}},
	}
	if diff := cmp.Diff(want, parseMounts(table)); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

func TestAVersion1GroupInheritsItsParentsCPUs(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cpuset.cpus"), "0-1\n")
	child := filepath.Join(root, "holdfast")
	write(t, filepath.Join(child, "cpuset.cpus"), "\n")
	if err := inheritCPUSet(root, child); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(filepath.Join(child, "cpuset.cpus")); string(raw) != "0-1\n" {
		t.Errorf("the child has %q", raw)
	}
	write(t, filepath.Join(child, "cpuset.cpus"), "1\n")
	if err := inheritCPUSet(root, child); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(filepath.Join(child, "cpuset.cpus")); string(raw) != "1\n" {
		t.Errorf("the existing value became %q", raw)
	}
}

func TestCreateCreatesEveryLevel(t *testing.T) {
	root := t.TempDir()
	group := Group("testbed/node-1/pods")
	for range 2 { // the second time all groups already exist
		if err := group.createIn(Mount{Path: root}); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeTree(filepath.Join(root, "testbed")); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(root); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestProcessesOfOtherNamespacesAreLeftOut(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cgroup.procs"), "11\n")
	write(t, filepath.Join(root, "pods", "a", "cgroup.procs"), "0\n12\n")
	got := pidsBelow(root)
	slices.Sort(got)
	if diff := cmp.Diff([]int{11, 12}, got); diff != "" {
		t.Errorf("pids (-want +got):\n%s", diff)
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
