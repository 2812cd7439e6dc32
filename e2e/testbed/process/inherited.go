package process

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// keepDescriptors keeps programs that are started later from inheriting open files that this process has inherited
// itself. Otherwise a lock that the caller of this process holds, such as with flock, would stay locked for as long as
// the programs run.
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
