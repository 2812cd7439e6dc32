package charts

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var link = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)

// pages returns all pages of the repository by their path relative to its root.
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

// Every page is linked from another page, so that readers can find it.
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

// wrongArticle matches "a" before a vowel. Words that begin with "u" or "one" are excluded, because they may begin with
// a consonant sound.
var wrongArticle = regexp.MustCompile(`\b[Aa] ([AEIaei]\w|[Oo][^n\W])\w*`)

// Pages and values use the correct article, which is easily overlooked when a name such as AppWrapper replaces another
// one.
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

// Users who mirror images for a cluster without internet access depend on this list.
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

// Users must be able to understand the values without reading the templates.
func TestEveryValueIsDescribed(t *testing.T) {
	page := string(mustRead(t, filepath.Join("..", "docs", "reference", "values.md")))
	chart := ""
	for line := range strings.Lines(page) {
		if name, heading := strings.CutPrefix(strings.TrimSpace(line), "## "); heading {
			chart = name
		}
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.HasPrefix(line, "| `") && strings.Trim(cells[len(cells)-1], " |") == "" {
			t.Errorf("%s: %s has no description", chart, strings.Trim(cells[0], " |"))
		}
	}
}

// Artifact Hub shows a chart's definitions, images and maintainers. Links in a README must also work outside the
// repository.
func TestChartsAreDescribedForArtifactHub(t *testing.T) {
	for _, chart := range append(slices.Sorted(maps.Keys(installed)), "holdfast") {
		metadata := loadChart(t, chart).Metadata
		if len(metadata.Maintainers) == 0 {
			t.Errorf("%s has no maintainers", chart)
		}
		definitions, err := filepath.Glob(filepath.Join(chart, "files", "crds", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var listed []struct{ Kind, Version, Name string }
		if err := yaml.Unmarshal([]byte(metadata.Annotations["artifacthub.io/crds"]), &listed); err != nil {
			t.Fatal(err)
		}
		if len(listed) != len(definitions) {
			t.Errorf("%s lists %d definitions, want %d", chart, len(listed), len(definitions))
			continue
		}
		for i, file := range definitions {
			var crd struct {
				Metadata struct{ Name string }
				Spec     struct {
					Names    struct{ Kind string }
					Versions []struct{ Name string }
				}
			}
			if err := yaml.Unmarshal(mustRead(t, file), &crd); err != nil {
				t.Fatal(err)
			}
			want := struct{ Kind, Version, Name string }{crd.Spec.Names.Kind, crd.Spec.Versions[0].Name, crd.Metadata.Name}
			if listed[i] != want {
				t.Errorf("%s lists %v, want %v", chart, listed[i], want)
			}
		}
		store := "docker.io/valkey/valkey:"
		if listed := strings.Contains(metadata.Annotations["artifacthub.io/images"], store); listed != (chart == jobSetChart || chart == inPlaceChart) {
			t.Errorf("%s lists the image of the store: %t", chart, listed)
		}
		for _, match := range link.FindAllStringSubmatch(string(mustRead(t, filepath.Join(chart, "README.md"))), -1) {
			if !strings.Contains(match[1], "://") {
				t.Errorf("%s: the README links to %s", chart, match[1])
			}
		}
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// The charts render with the values in the examples for Argo CD and Flux.
func TestGitOpsExamplesRender(t *testing.T) {
	found := map[string]bool{}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(mustRead(t, filepath.Join("..", "docs", "installation.md"))), -1) {
		for _, document := range strings.Split(block[1], "---\n") {
			var object struct {
				Kind string
				Spec struct {
					Source struct {
						Path string
						Helm struct{ ValuesObject map[string]any }
					}
					Chart  struct{ Spec struct{ Chart string } }
					Values map[string]any
				}
			}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			path, values := object.Spec.Source.Path, object.Spec.Source.Helm.ValuesObject
			if object.Kind == "HelmRelease" {
				path, values = object.Spec.Chart.Spec.Chart, object.Spec.Values
			}
			if path == "" {
				continue
			}
			found[object.Kind] = true
			global, _ := values["global"].(map[string]any)
			if global["imageRegistry"] == nil {
				t.Errorf("%s sets no registry", object.Kind)
			}
			content, err := yaml.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := render(t, strings.TrimPrefix(path, "charts/"), string(content)); err != nil {
				t.Errorf("%s: %v", object.Kind, err)
			}
		}
	}
	if !found["Application"] || !found["HelmRelease"] {
		t.Errorf("examples of %v", found)
	}
}
