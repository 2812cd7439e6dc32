package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Group is a path that identifies the same group in every hierarchy.
type Group string

// Create creates the group in every hierarchy. A kubelet rejects a root group that is missing from one of them.
func (g Group) Create() error {
	for _, mount := range Mounts() {
		if err := g.createIn(mount); err != nil {
			return fmt.Errorf("creating cgroup %s in %s: %w", g, mount.Path, err)
		}
	}
	return nil
}

func (g Group) createIn(mount Mount) error {
	dir := mount.Path
	for _, part := range strings.Split(string(g), "/") {
		if mount.V2 {
			enableControllers(dir)
		}
		parent := dir
		dir = filepath.Join(dir, part)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := inheritCPUSet(parent, dir); err != nil {
			return err
		}
	}
	return nil
}

// enableControllers enables all controllers of a cgroup v2 group for its children. It enables them one by one,
// because the kernel rejects a whole write if it rejects one of the controllers. If the host does not allow a
// controller, the kubelet reports this.
func enableControllers(dir string) {
	raw, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return
	}
	for _, controller := range strings.Fields(string(raw)) {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
	}
}

// inheritCPUSet sets values that version 1 leaves empty. A group without CPUs or memory nodes cannot contain
// processes.
func inheritCPUSet(parent, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		own, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || strings.TrimSpace(string(own)) != "" {
			continue // another controller, or already set
		}
		value, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			continue // in version 2, empty means inherited
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0); err != nil {
			return err
		}
	}
	return nil
}

// Dirs returns the existing directories of the group.
func (g Group) Dirs() []string {
	var dirs []string
	for _, mount := range Mounts() {
		dir := filepath.Join(mount.Path, string(g))
		if _, err := os.Stat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Entrances returns the files through which a process joins the group by writing 0. They are in the version 2
// hierarchy, of which all processes on the host are members, or otherwise in the freezer's hierarchy, which has no side
// effects.
func (g Group) Entrances() []string {
	mounts := Mounts()
	i := slices.IndexFunc(mounts, func(m Mount) bool { return m.V2 })
	if i < 0 {
		i = slices.IndexFunc(mounts, func(m Mount) bool { return slices.Contains(m.Options, "freezer") })
	}
	if i < 0 {
		return nil
	}
	return []string{filepath.Join(mounts[i].Path, string(g), "cgroup.procs")}
}
