package process

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// keepDescriptors lets the programs that are started from now on inherit none of the open files that this process has inherited itself.
// They outlive it: a lock that its caller holds, as under flock, would stay taken as long as they run.
func keepDescriptors() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("listing the open files: %w", err)
	}
	for _, entry := range open {
		if n, err := strconv.Atoi(entry.Name()); err == nil && n > 2 {
			syscall.CloseOnExec(n)
		}
	}
	return nil
}
