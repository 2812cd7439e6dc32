package suites

import "testing"

func TestSuitesOfTheSameLastFolderHaveDifferentNames(t *testing.T) {
	for folder, want := range map[string]string{
		"/src/e2e/suites/jobset":         "jobset",
		"/src/e2e/suites/pytorch/jobset": "pytorch-jobset",
	} {
		if got := suiteName(folder); got != want {
			t.Errorf("suiteName(%q) = %q, want %q", folder, got, want)
		}
	}
}
