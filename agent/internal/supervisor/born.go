package supervisor

import (
	"bytes"
	"os"
	"time"
)

// hostname is a file that every container runtime makes anew for each pod and mounts into its containers.
const hostname = "/etc/hostname"

// PodBorn is when this pod's sandbox was created, Unix microseconds, as far as a container can know: of two pods in a slot
// the younger one holds it, also if a container of the older one starts again later. Without that mount it is now.
func PodBorn(now time.Time) int64 {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return now.UnixMicro()
	}
	file, err := os.Stat(hostname)
	if err != nil || !isMounted(mounts, hostname) || file.ModTime().After(now) {
		return now.UnixMicro()
	}
	return file.ModTime().UnixMicro()
}

// isMounted looks for a mount point in proc(5)'s mountinfo: its fifth field.
func isMounted(mountinfo []byte, path string) bool {
	for line := range bytes.Lines(mountinfo) {
		if f := bytes.Fields(line); len(f) > 4 && string(f[4]) == path {
			return true
		}
	}
	return false
}
