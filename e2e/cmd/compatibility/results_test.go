package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

var today = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestRecord(t *testing.T) {
	before := results{
		{"Kubernetes", "1.35.4", expected, "nobody has run it", ""},
		{"Kubernetes", "1.34.3", tested, "a", "2026-01-01"},
		{"Kubernetes", "1.34.3", tested, "b", "2026-01-01"},
	}
	for name, c := range map[string]struct {
		component, version, suite string
		want                      results
	}{
		"a suite that ran before": {"Kubernetes", "1.34.3", "a", results{
			before[0], {"Kubernetes", "1.34.3", tested, "a", "2026-11-23"}, before[2],
		}},
		"a version that was expected to work": {"Kubernetes", "1.35.4", "a", results{
			{"Kubernetes", "1.35.4", tested, "a", "2026-11-23"}, before[1], before[2],
		}},
		"another component": {"Valkey", "8.1.1", "a", results{
			before[0], before[1], before[2], {"Valkey", "8.1.1", tested, "a", "2026-11-23"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, before.record(c.component, c.version, c.suite, today)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMarksAreValid(t *testing.T) {
	for name, r := range map[string]result{
		"a mark that does not exist": {"a", "1", "fine", "s", ""},
		"a test without a date":      {"a", "1", tested, "s", ""},
		"a date without a test":      {"a", "1", expected, "s", "2026-11-23"},
	} {
		if (results{r}).validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// The page must match the record.
func TestThePageIsGenerated(t *testing.T) {
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := read(filepath.Join(root, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(content, all.page()) {
		t.Errorf("%s is out of date: run go run ./e2e/cmd/compatibility page", pageFile)
	}
}
