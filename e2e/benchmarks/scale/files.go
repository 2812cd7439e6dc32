package main

import (
	"fmt"
	"syscall"
)

const (
	connectionsOfAgent = 2 // one for calls, unless agents share those, and one for the subscription
	spareFiles         = 4000
)

// filesFor returns the number of files that this program needs for the given number of workers.
func filesFor(workers int) int { return connections(workers) + spareFiles }

// connections returns the number of connections that the agents of the given number of workers have to the store.
func connections(workers int) int {
	if workers >= sharedFrom {
		return workers + workers/share
	}
	return connectionsOfAgent * workers
}

// raiseFiles raises the limit on open files for this program and its children, so that all agents can connect to the
// store. This requires root. It does nothing if the limit is already high enough.
func raiseFiles(workers int) error {
	need := uint64(filesFor(workers))
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading the limit on open files: %w", err)
	}
	limit.Max = max(limit.Max, need)
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("%d workers need %d open files: %w", workers, need, err)
	}
	return nil
}
