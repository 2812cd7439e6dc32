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
