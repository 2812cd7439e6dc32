package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Pids returns the processes in the group and its subgroups, in any hierarchy.
func (g Group) Pids() []int {
	seen := map[int]bool{}
	var pids []int
	for _, dir := range g.Dirs() {
		for _, pid := range pidsBelow(dir) {
			if !seen[pid] {
				seen[pid] = true
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func pidsBelow(dir string) []int {
	var pids []int
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil // groups may disappear during the walk
		}
		raw, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return nil
		}
		for _, field := range strings.Fields(string(raw)) {
			// 0 represents a process in another PID namespace.
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// Kill kills every process of the group in all hierarchies and waits until none is left. The kernel knows the members,
// so no process is missed because of a lost record or a fork in the meantime.
func (g Group) Kill(ctx context.Context) error {
	for {
		for _, dir := range g.Dirs() {
			// Version 2, Linux 5.14: the whole tree in one step.
			_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		}
		pids := g.Pids()
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes %v in cgroup %s did not exit: %w", pids, g, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Remove deletes the group and its subgroups. The kernel refuses this for a short time after the last process has
// exited, so Remove retries until ctx is done.
func (g Group) Remove(ctx context.Context) error {
	for {
		var errs []error
		for _, dir := range g.Dirs() {
			errs = append(errs, removeTree(dir))
		}
		err := errors.Join(errs...)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("removing cgroup %s: %w", g, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// removeTree removes only directories. The files in them belong to the kernel.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
