package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// raiseFiles raises the limit of open files as far as the kernel permits. The children and the store inherit it. Without
// CAP_SYS_RESOURCE, it raises only the soft limit.
func raiseFiles() error {
	text, err := os.ReadFile("/proc/sys/fs/nr_open")
	if err != nil {
		return fmt.Errorf("reading the largest limit of open files: %w", err)
	}
	most, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return fmt.Errorf("reading the largest limit of open files: %w", err)
	}
	err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: most})
	if errors.Is(err, syscall.EPERM) {
		hard := fileLimit()
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: hard, Max: hard})
	}
	if err != nil {
		return fmt.Errorf("raising the limit of open files: %w", err)
	}
	return nil
}

// fileLimit returns how many files a process may open.
func fileLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return limit.Max
}

// leastMemory is how much memory must stay available for the other work on the machine.
const leastMemory = 8 << 30

// checkMemory returns an error if the machine is short of memory.
func checkMemory() error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fmt.Errorf("reading the available memory: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return fmt.Errorf("reading the available memory: %w", err)
	}
	if kib<<10 < leastMemory {
		return fmt.Errorf("%d MiB of memory are available, less than %d", kib>>10, leastMemory>>20)
	}
	return nil
}
