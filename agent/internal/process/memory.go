package process

import (
	"bytes"
	"os"
	"strconv"
)

// memoryFiles count how often the kernel has killed a process of this container because memory ran out. The first is
// for cgroup v2, the second for v1, as container runtimes mount them.
var memoryFiles = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}

// OutOfMemoryKills returns that count. ok is false where the kernel does not report it.
func OutOfMemoryKills() (n uint64, ok bool) {
	for _, file := range memoryFiles {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, ok := kills(content); ok {
			return n, true
		}
	}
	return 0, false
}

// kills parses the line "oom_kill N".
func kills(content []byte) (n uint64, ok bool) {
	for line := range bytes.Lines(content) {
		f := bytes.Fields(line)
		if len(f) != 2 || string(f[0]) != "oom_kill" {
			continue
		}
		n, err := strconv.ParseUint(string(f[1]), 10, 64)
		return n, err == nil
	}
	return 0, false
}
