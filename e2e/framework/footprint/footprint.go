// Package footprint reads the peak resident size of a process from /proc/PID/status.
package footprint

import (
	"fmt"
	"os"
	"strings"
)

// Peak returns the peak resident size in MiB since the process started or since the last call of Forget.
func Peak(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib / 1024, nil
		}
	}
	return 0, fmt.Errorf("process %d has no VmHWM", pid)
}

// Forget resets the peak to the current size.
func Forget(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}
