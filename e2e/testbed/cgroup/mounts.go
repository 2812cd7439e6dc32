// Package cgroup creates, empties and removes control groups on hosts with version 1, version 2 or both.
package cgroup

import (
	"os"
	"strings"
)

// Mount is one mounted hierarchy.
type Mount struct {
	Path string
	V2   bool
	// Options are the mount options. On version 1 they name the controllers.
	Options []string
}

// Mounts returns the hierarchies of this host.
func Mounts() []Mount {
	raw, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil
	}
	return parseMounts(string(raw))
}

func parseMounts(table string) []Mount {
	var mounts []Mount
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 4 || (fields[2] != "cgroup" && fields[2] != "cgroup2") {
			continue
		}
		mounts = append(mounts, Mount{
			Path:    fields[1],
			V2:      fields[2] == "cgroup2",
			Options: strings.Split(fields[3], ","),
		})
	}
	return mounts
}
