package charts

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"
)

var (
	link     = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	repoFile = regexp.MustCompile(`(?:^|[\s=])((?:examples|config|charts)/[\w./-]+)`)
	target   = regexp.MustCompile(`(?:^|[\s` + "`" + `])make ((?:[a-z][a-z0-9]*)(?:-[a-z0-9]+)*)`)
	setValue = regexp.MustCompile(`--set[ =](\S+)`)
	chartArg = regexp.MustCompile(`helm (?:install|upgrade) \S+ charts/(\S+)`)
	plugin   = regexp.MustCompile(`kubectl holdfast ([a-z]+)`)
)

// pages are all pages of the repository, by their path from its root.
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
		t.Fatalf("there are %d pages", len(found))
	}
	return found
}

// commands are the lines of a page's code blocks, with continued lines joined.
func commands(text string) []string {
	var found []string
	fenced := false
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if fenced || strings.HasPrefix(line, "    ") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func TestLinksLeadSomewhere(t *testing.T) {
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

// What a reader is told to type names files, targets and commands that exist.
func TestCommandsNameWhatIsThere(t *testing.T) {
	makefile := string(mustRead(t, filepath.Join("..", "Makefile")))
	for page, text := range pages(t) {
		for _, line := range commands(text) {
			for _, match := range repoFile.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join("..", match[1])); err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
			}
			if match := target.FindStringSubmatch(line); match != nil && strings.HasPrefix(line, "make ") && !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s: there is no target %s", page, match[1])
			}
			if match := plugin.FindStringSubmatch(line); match != nil && !slices.Contains([]string{"status", "timeline", "why", "top"}, match[1]) {
				t.Errorf("%s: there is no kubectl holdfast %s", page, match[1])
			}
		}
	}
}

// The values of every helm command are taken by the chart, which renders with them.
func TestHelmCommandsAreTaken(t *testing.T) {
	seen := 0
	for page, text := range pages(t) {
		for _, line := range commands(text) {
			chart := chartArg.FindStringSubmatch(line)
			if chart == nil {
				continue
			}
			seen++
			values := map[string]any{}
			if strings.Contains(line, "--reuse-values") && chart[1] == jobSetChart { // the page has installed the store before
				values = map[string]any{"orchestrator": map[string]any{"enabled": true}, "valkey": map[string]any{"enabled": true}}
			}
			for _, set := range setValue.FindAllStringSubmatch(line, -1) {
				if err := strvals.ParseInto(set[1], values); err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
			}
			raw, err := yaml.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := render(t, chart[1], string(raw)); err != nil {
				t.Errorf("%s: %s: %v", page, line, err)
			}
		}
	}
	if seen < 8 {
		t.Errorf("there are %d commands", seen)
	}
}

// A page that no other leads to is found by nobody.
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
		if !linked[page] && !linked[folder] && !strings.HasPrefix(page, "docs/adr/") && !strings.HasPrefix(page, "docs/runbooks/") {
			t.Errorf("no page leads to %s", page)
		}
	}
}
