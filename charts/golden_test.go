package charts

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made matches values that a chart generates again whenever it is rendered outside a cluster.
var made = regexp.MustCompile(`(?m)^(  (?:password|ca\.crt|tls\.crt|tls\.key)): \S{20,}$`)

var update = flag.Bool("update", false, "write the golden files again")

// goldens lists the settings with a golden file. Other settings change only a few lines, which are tested
// individually.
var goldens = []string{"default", "everything"}

// A golden file contains all objects except CRDs and dashboards, which have their own tests.
func TestGoldenFiles(t *testing.T) {
	eachRendering(t, func(t *testing.T, chart, name, values string) {
		if !slices.Contains(goldens, name) {
			return
		}
		got := golden(mustRender(t, chart, values))
		file := filepath.Join("testdata", chart, name+".yaml")
		if *update {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(got), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("differs from %s (go test -update updates it), -want +got:\n%s", file, diff)
		}
	})
}

func golden(files map[string]string) string {
	var b strings.Builder
	for _, file := range slices.Sorted(maps.Keys(files)) {
		content := strings.TrimSpace(files[file])
		if content == "" || slices.Contains([]string{"crds.yaml", "dashboards.yaml"}, path.Base(file)) || strings.HasSuffix(file, ".tpl") {
			continue
		}
		b.WriteString("### " + file + "\n" + made.ReplaceAllString(content, "$1: <made at random>") + "\n")
	}
	return b.String()
}
