package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// raiseFiles raises the limit on open files as far as the kernel permits. The children and the store inherit it. Without
// CAP_SYS_RESOURCE, it raises only the soft limit.
func raiseFiles() error {
	most, err := sysctl("fs/nr_open")
	if err != nil {
		return err
	}
	err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: most})
	if errors.Is(err, syscall.EPERM) {
		hard := fileLimit()
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: hard, Max: hard})
	}
	if err != nil {
		return fmt.Errorf("raising the limit on open files: %w", err)
	}
	return nil
}

func sysctl(name string) (uint64, error) {
	text, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/sys/%s: %w", name, err)
	}
	return n, nil
}

// defaultBacklogMembers is the size of the largest group that was measured with the kernel's default queue length for the loopback
// interface.
const defaultBacklogMembers = 10_000

// checkBacklog returns an error if the kernel may drop packets between the members. The keepalives of all connections are due at the same time
// after a message to all members, and each connection has two ends on this machine.
func checkBacklog(members int) error {
	const name = "net/core/netdev_max_backlog"
	most, err := sysctl(name)
	if want := uint64(2 * members); err == nil && members > defaultBacklogMembers && most < want {
		err = fmt.Errorf("the kernel queues only %d packets for a core and drops others: sysctl -w %s=%d", most, strings.ReplaceAll(name, "/", "."), want)
	}
	return err
}

// fileLimit returns how many files a process may open.
func fileLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return limit.Max
}

// leastMemory is how much memory must remain available for other work on the machine.
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
