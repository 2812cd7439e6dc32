package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Found is a process in /proc.
type Found struct {
	ID   ID
	Exe  string
	Dir  string
	Args []string
}

func (f Found) String() string {
	return fmt.Sprintf("%d (%s)", f.ID.PID, filepath.Base(f.Exe))
}

// Scan returns the processes that match, excluding the caller.
func Scan(match func(Found) bool) []Found {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []Found
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if f, ok := Describe(pid); ok && match(f) {
			found = append(found, f)
		}
	}
	return found
}

// Describe reads information about a live process from /proc.
func Describe(pid int) (Found, bool) {
	id, err := Lookup(pid)
	if err != nil {
		return Found{}, false
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	exe, _ := os.Readlink(dir + "exe")
	cwd, _ := os.Readlink(dir + "cwd")
	args, _ := os.ReadFile(dir + "cmdline")
	return Found{
		ID:   id,
		Exe:  strings.TrimSuffix(exe, " (deleted)"),
		Dir:  strings.TrimSuffix(cwd, " (deleted)"),
		Args: strings.Split(strings.TrimRight(string(args), "\x00"), "\x00"),
	}, true
}

// Uses reports whether the program, its working directory or one of its arguments is in one of the
// directories.
func (f Found) Uses(folders ...string) bool {
	for _, folder := range folders {
		for _, word := range append([]string{f.Exe, f.Dir}, f.Args...) {
			if word == folder || strings.Contains(word, folder+"/") {
				return true
			}
		}
	}
	return false
}
