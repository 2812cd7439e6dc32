package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstallCopiesThisProgram(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // a restarted init container finds its own copy
		if err := install(dir); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "holdfast-exec"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes (%v), want %d", len(got), err, len(want))
	}
	if file, err := os.Stat(filepath.Join(dir, "holdfast-exec")); err != nil || file.Mode() != 0o755 {
		t.Errorf("mode %v (%v)", file.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v)", left, err)
	}
}

func TestInstallIntoAMissingFolderFails(t *testing.T) {
	if err := install("/nonexistent"); err == nil || !strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("error %v", err)
	}
}
