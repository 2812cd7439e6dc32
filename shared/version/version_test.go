package version

import "testing"

func TestABuildThatNobodyStampedSaysSo(t *testing.T) {
	if Version() != "devel" || Commit() == "" {
		t.Errorf("version %q, commit %q", Version(), Commit())
	}
}

func TestTheLinkerWins(t *testing.T) {
	defer func(v, c string) { version, commit = v, c }(version, commit)
	version, commit = "v1.2.3", "abc"
	if Version() != "v1.2.3" || Commit() != "abc" {
		t.Errorf("version %q, commit %q", Version(), Commit())
	}
}
