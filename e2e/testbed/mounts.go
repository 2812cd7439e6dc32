package testbed

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mountsBelow returns the mounts on the host at or below the directories, latest first.
func mountsBelow(dirs ...string) []string {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return parseMountsBelow(string(raw), dirs...)
}

func parseMountsBelow(table string, dirs ...string) []string {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := unescape.Replace(fields[4])
		for _, dir := range dirs {
			if point == dir || strings.HasPrefix(point, dir+"/") {
				points = append([]string{point}, points...)
				break
			}
		}
	}
	return points
}

// removeAll deletes a directory, but never through a mount, which could lead to files that belong to others.
func removeAll(dir string) error {
	for _, point := range mountsBelow(dir) {
		_ = unix.Unmount(point, unix.MNT_DETACH)
	}
	if left := mountsBelow(dir); len(left) > 0 {
		return fmt.Errorf("not deleting %s: %s is still mounted", dir, strings.Join(left, ", "))
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("deleting %s: %w", dir, err)
	}
	return nil
}
