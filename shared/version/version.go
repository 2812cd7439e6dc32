// Package version says what was built. The linker sets both values, see BUILD in the Makefile.
package version

import (
	"cmp"
	"runtime/debug"
)

var (
	version = "devel"
	commit  = ""
)

// Version is the release, such as v0.3.0; devel if the linker was not told.
func Version() string { return version }

// Commit is the revision of the source; that which the go command recorded, or unknown, if the linker was not told.
func Commit() string { return cmp.Or(commit, recorded(), "unknown") }

func recorded() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
