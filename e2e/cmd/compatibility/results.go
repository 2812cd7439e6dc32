package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Marks of a version.
const (
	tested   = "tested"
	expected = "expected to work"
	broken   = "does not work"
)

// result records whether one version of a component works, and how that is known.
type result struct {
	Component string `json:"component"`
	Version   string `json:"version"`
	Mark      string `json:"mark"`
	// Suite is the suite that has passed. For a version that was not tested, it is the reason for the mark.
	Suite string `json:"suite"`
	// Date is the date of the last run, such as 2026-11-23. It is empty for a version that was not tested.
	Date string `json:"date,omitempty"`
}

type results []result

func read(file string) (results, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	var all results
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, all.validate()
}

func (all results) validate() error {
	for _, r := range all {
		if !slices.Contains([]string{tested, expected, broken}, r.Mark) {
			return fmt.Errorf("%s %s: unknown mark %q", r.Component, r.Version, r.Mark)
		}
		if _, err := time.Parse(time.DateOnly, r.Date); (r.Mark == tested) != (err == nil) {
			return fmt.Errorf("%s %s: a version has a date if it was tested, and only then: %q", r.Component, r.Version, r.Date)
		}
	}
	return nil
}

// record returns the results with one more, dated today. It replaces any result of the same suite and version, and any
// mark that is not based on a test.
func (all results) record(component, version, suite string, now time.Time) results {
	kept := slices.DeleteFunc(slices.Clone(all), func(r result) bool {
		return r.Component == component && r.Version == version && (r.Suite == suite || r.Mark != tested)
	})
	kept = append(kept, result{component, version, tested, suite, now.UTC().Format(time.DateOnly)})
	slices.SortStableFunc(kept, func(a, b result) int {
		return cmp.Or(strings.Compare(a.Component, b.Component), strings.Compare(b.Version, a.Version), strings.Compare(a.Suite, b.Suite))
	})
	return kept
}

func (all results) write(file string) error {
	content, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

const introduction = `# Compatibility

Every change is tested with Kubernetes 1.36.3 and the versions pinned in hack/ and in the modules below tools/. This page lists additional tested
versions. The page is generated from [results.json](compatibility/results.json), which the test targets write.

* **tested**: the suite has passed on this version, on the date given.
* **expected to work**: no test has run on this version, for the reason given.
* **does not work**: this version is rejected, or a test fails with it.

| component | version | | by | on |
|---|---|---|---|---|
`

func (all results) page() []byte {
	page := bytes.NewBufferString(introduction)
	for _, r := range all {
		fmt.Fprintf(page, "| %s | %s | %s | %s | %s |\n", r.Component, r.Version, r.Mark, r.Suite, r.Date)
	}
	return page.Bytes()
}
