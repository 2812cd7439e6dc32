package main

import (
	"fmt"
	"syscall"
)

const (
	connectionsOfAgent = 2 // one for calls, unless agents share those, and one that listens
	spareFiles         = 4000
)

// filesFor is how many the agents of so many workers need.
func filesFor(workers int) int {
	if workers >= sharedFrom {
		return workers + workers/share + spareFiles
	}
	return connectionsOfAgent*workers + spareFiles
}

// raiseFiles lets this program, and those that it starts, open as many files as the agents have connections to the store. Root may; where
// the limit is high enough nothing changes.
func raiseFiles(workers int) error {
	need := uint64(filesFor(workers))
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	limit.Max = max(limit.Max, need)
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("%d workers need %d open files: %w", workers, need, err)
	}
	return nil
}
