package main

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var repository = regexp.MustCompile(`(?m)^ +repository: (\S+)$`)

// The release contains exactly the images that the charts use.
func TestReleaseContainsImagesOfCharts(t *testing.T) {
	asked := map[string]bool{}
	for _, chart := range charts {
		values, err := os.ReadFile(filepath.Join("..", "..", "..", "charts", chart, "values.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range repository.FindAllStringSubmatch(string(values), -1) {
			asked[found[1]] = true
		}
	}
	delete(asked, "valkey") // the store's image is not ours
	released := map[string]bool{}
	for _, p := range images {
		released[p.name] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(released))); diff != "" {
		t.Errorf("images (-charts +release):\n%s", diff)
	}
}

func TestReleasedProgramsExist(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	workspace, err := os.ReadFile(filepath.Join(top, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(slices.Clone(images), plugin) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, p.module, p.main, "main.go"), nil, parser.PackageClauseOnly)
		if err != nil || file.Name.Name != "main" {
			t.Errorf("%s is not a program: %v", p.name, err)
		}
		if inWorkspace := strings.Contains(string(workspace), "\t./"+p.module+"\n"); inWorkspace == p.alone {
			t.Errorf("%s: alone is %t, in the workspace is %t", p.name, p.alone, inWorkspace)
		}
	}
}

func TestInvalidSigningKeysAreRejected(t *testing.T) {
	for content, want := range map[string]string{
		"key": "is not in PEM",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "parsing signing key",
	} {
		file := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := signingKey(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", content, err, want)
		}
	}
}
