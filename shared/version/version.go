// Package version returns the version of the build, which is set by the linker; see BUILD in the Makefile.
package version

import (
	"cmp"
	"runtime/debug"
)

var (
	version = "devel"
	commit  = ""
)

// Version returns the release, such as v0.3.0, or devel if the linker did not set it.
func Version() string { return version }

// Commit returns the revision set by the linker or recorded by the go command, or "unknown".
func Commit() string {
	var recorded string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				recorded = s.Value
			}
		}
	}
	return cmp.Or(commit, recorded, "unknown")
}
