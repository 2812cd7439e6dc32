package version

import "testing"

func TestVersionWithoutLinkerFlags(t *testing.T) {
	if Version() != "devel" || Commit() == "" {
		t.Errorf("version %q, commit %q", Version(), Commit())
	}
}

func TestLinkerFlagsTakePrecedence(t *testing.T) {
	defer func(v, c string) { version, commit = v, c }(version, commit)
	version, commit = "v1.2.3", "abc"
	if Version() != "v1.2.3" || Commit() != "abc" {
		t.Errorf("version %q, commit %q", Version(), Commit())
	}
}
