package charts

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)

// pages returns all pages of the repository, by their path from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			found[strings.TrimPrefix(file, "../")] = string(mustRead(t, file))
		}
	}
	if len(found) < 30 {
		t.Fatalf("found %d pages", len(found))
	}
	return found
}

func TestLinksAreValid(t *testing.T) {
	for page, text := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", filepath.Dir(page), match[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// Every page is linked from another one, so that readers find it.
func TestEveryPageIsLinked(t *testing.T) {
	all := pages(t)
	linked := map[string]bool{"README.md": true}
	for page, text := range all {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			linked[filepath.Join(filepath.Dir(page), match[1])] = true
		}
	}
	for _, page := range slices.Sorted(maps.Keys(all)) {
		folder := filepath.Dir(page)
		if !linked[page] && !linked[folder] && !strings.HasPrefix(page, "docs/runbooks/") {
			t.Errorf("no page links to %s", page)
		}
	}
}

// wrongArticle matches "a" before a vowel. Words that begin with u, and those with "one", may begin with a consonant.
var wrongArticle = regexp.MustCompile(`\b[Aa] ([AEIaei]\w|[Oo][^n\W])\w*`)

// Pages and values have the right articles, which are easily missed when a name such as AppWrapper replaces another one.
func TestArticles(t *testing.T) {
	all := pages(t)
	for chart := range installed {
		all["charts/"+chart+"/values.yaml"] = string(mustRead(t, filepath.Join(chart, "values.yaml")))
	}
	for page, text := range all {
		for _, found := range wrongArticle.FindAllString(text, -1) {
			t.Errorf("%s: %q", page, found)
		}
	}
}

var repository = regexp.MustCompile(`(?m)^\s*repository: (?:\S*/)?(\S+)`)

// Users who mirror images for a cluster without internet access read this list.
func TestInstallationPageListsAllImages(t *testing.T) {
	page := string(mustRead(t, filepath.Join("..", "docs", "installation.md")))
	for chart := range installed {
		found := repository.FindAllStringSubmatch(string(mustRead(t, filepath.Join(chart, "values.yaml"))), -1)
		if len(found) == 0 {
			t.Errorf("%s names no image", chart)
		}
		for _, match := range found {
			if !strings.Contains(page, "| `"+match[1]+"` |") {
				t.Errorf("docs/installation.md does not list %s of %s", match[1], chart)
			}
		}
	}
}
