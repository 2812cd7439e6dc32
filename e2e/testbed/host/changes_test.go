package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChangesAreUndone(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "var", "lib", "kubelet")
	used := filepath.Join(root, "run", "containerd")
	note := filepath.Join(root, "host.json")

	surveyed := Survey([]string{"kernel.no-such-setting"}, []string{deep, used})
	if err := surveyed.Save(note); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{deep, filepath.Join(used, "by-somebody-else")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := Load(note)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(surveyed, loaded); diff != "" {
		t.Errorf("changes (-saved +loaded):\n%s", diff)
	}
	if err := loaded.Undo(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "var")); !os.IsNotExist(err) {
		t.Error("created folders are left")
	}
	if _, err := os.Stat(used); err != nil {
		t.Error("a folder that is in use was removed")
	}
}

func TestMissingStopsAtWhatExists(t *testing.T) {
	root := t.TempDir()
	want := []string{filepath.Join(root, "a"), filepath.Join(root, "a", "b")}
	if diff := cmp.Diff(want, missing(filepath.Join(root, "a", "b"))); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	if got := missing(root); got != nil {
		t.Errorf("an existing folder counts as missing: %v", got)
	}
}
