package process

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// keepDescriptors prevents programs that are started later from inheriting open files that this process has inherited
// itself. Otherwise a lock held by the caller of this process, for example with flock, would stay locked while the
// programs are running.
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
