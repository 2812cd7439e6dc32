package process

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOutOfMemoryKills(t *testing.T) {
	const (
		version2 = "low 0\nhigh 0\nmax 17\noom 3\noom_kill 2\noom_group_kill 0\n"
		version1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"
	)
	dir := t.TempDir()
	known := memoryFiles
	t.Cleanup(func() { memoryFiles = known })
	for name, c := range map[string]struct {
		contents []string // of the files, in order; empty: the file does not exist
		want     uint64
		ok       bool
	}{
		"version 2":                 {[]string{version2, ""}, 2, true},
		"version 1":                 {[]string{"", version1}, 5, true},
		"an old kernel":             {[]string{"", "oom_kill_disable 0\nunder_oom 0\n"}, 0, false},
		"no cgroups":                {[]string{"", ""}, 0, false},
		"version 2 without the key": {[]string{"low 0\n", version1}, 5, true},
		"an invalid number":         {[]string{"oom_kill many\n", ""}, 0, false},
		"a line with three words":   {[]string{"oom_kill 1 2\n", ""}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			memoryFiles = nil
			for i, content := range c.contents {
				file := filepath.Join(dir, name+string(rune('a'+i)))
				if content != "" {
					if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				memoryFiles = append(memoryFiles, file)
			}
			if n, ok := OutOfMemoryKills(); n != c.want || ok != c.ok {
				t.Errorf("%d, %t; want %d, %t", n, ok, c.want, c.ok)
			}
		})
	}
}
