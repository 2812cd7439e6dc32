package main

import (
	"fmt"
	"syscall"
)

const (
	connectionsOfAgent = 2
	spareFiles         = 4000
)

// raiseFiles lets this program, and those that it starts, open as many files as the agents have connections to the store. Root may; where
// the limit is high enough nothing changes.
func raiseFiles(workers int) error {
	need := uint64(connectionsOfAgent*workers + spareFiles)
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
