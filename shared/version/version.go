// Package version returns the version of the build, which is set by the linker; see BUILD in the Makefile.
package version

import "cmp"

var version, commit string

// Version returns the release, such as v0.3.0, or devel if the linker did not set it.
func Version() string { return cmp.Or(version, "devel") }

// Commit returns the revision, or unknown if the linker did not set it.
func Commit() string { return cmp.Or(commit, "unknown") }
