package docs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = "# A page\n\nRun `make test`, look at `kubectl holdfast top -A` or `spec.replicas`:\n\n" +
	"    helm install a charts/a \\\n      --set b=c  # twice\n    # a comment\n    kubectl get pods 'a b'\n\n" +
	"and then\n\n    spec:\n      replicas: 3\n\n* a point\n    that goes on\n\n```\nNAME   READY\na      1\n```\n\n" +
	"    $ kubectl get jobset\n    NAME   READY\n\n```yaml\na: b\n```\n\n1. numbered\n\n       make demo\n"

func TestParse(t *testing.T) {
	got, err := Parse("a.md", page)
	if err != nil {
		t.Fatal(err)
	}
	want := Page{
		Path: "a.md",
		Blocks: []Block{
			{Line: 5, Kind: Commands, Commands: []Command{
				{5, "helm install a charts/a --set b=c  # twice", []string{"helm", "install", "a", "charts/a", "--set", "b=c"}},
				{8, "kubectl get pods 'a b'", []string{"kubectl", "get", "pods", "a b"}},
			}},
			{Line: 12, Kind: Config},
			{Line: 18, Kind: Figure},
			{Line: 23, Kind: Commands, Commands: []Command{{23, "kubectl get jobset", []string{"kubectl", "get", "jobset"}}}},
			{Line: 26, Kind: Config},
			{Line: 32, Kind: Commands, Commands: []Command{{32, "make demo", []string{"make", "demo"}}}},
		},
		Spans: []string{"make test", "kubectl holdfast top -A"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnknownBlocksAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an unknown program":                   {"a\n\n    frobnicate all\n", `line 3: "frobnicate all" is neither a known command`},
		"an unknown program after a known one": {"a\n\n    make a\n    frobnicate all\n", `unknown program in "frobnicate all"`},
		"an unknown language":                  {"```fish\nmake a\n```\n", "a block of fish"},
		"an unclosed quote":                    {"a\n\n    make 'a\n", "unclosed quote"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("a.md", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		`a --b=c  d`:                        {"a", "--b=c", "d"},
		`a '["x y"]' "b c"d ''`:             {"a", `["x y"]`, "b cd", ""},
		`k $(k get -o name | head -n 1)`:    {"k", "$(k get -o name | head -n 1)"},
		`a -o jsonpath='{.a[?(@.b=="c")]}'`: {"a", "-o", `jsonpath={.a[?(@.b=="c")]}`},
		`a#b # c`:                           {"a#b"},
	} {
		got, err := Words(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// Every block on every page is of a known kind.
func TestAllPagesCanBeRead(t *testing.T) {
	pages, err := Pages(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[Kind]int{}
	for _, p := range pages {
		for _, b := range p.Blocks {
			kinds[b.Kind]++
		}
	}
	if len(pages) < 30 || kinds[Commands] < 30 || kinds[Config] < 10 || kinds[Figure] < 10 {
		t.Errorf("%d pages, blocks %v", len(pages), kinds)
	}
}
