package process

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOutOfMemoryKills(t *testing.T) {
	known := memoryEvents
	t.Cleanup(func() { memoryEvents = known })
	for name, c := range map[string]struct {
		content string // empty: the file does not exist
		want    uint64
		ok      bool
	}{
		"two kills":         {"low 0\nhigh 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 0\n", 2, true},
		"an old kernel":     {"low 0\nhigh 0\nmax 17\noom 3\n", 0, false},
		"no cgroup v2":      {"", 0, false},
		"an invalid number": {"oom_kill many\n", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			memoryEvents = filepath.Join(t.TempDir(), "memory.events")
			if c.content != "" {
				if err := os.WriteFile(memoryEvents, []byte(c.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if n, ok := OutOfMemoryKills(); n != c.want || ok != c.ok {
				t.Errorf("%d, %t; want %d, %t", n, ok, c.want, c.ok)
			}
		})
	}
}
