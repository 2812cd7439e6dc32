package charts

import (
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

// made is what the chart makes anew with each rendering outside of a cluster.
var made = regexp.MustCompile(`(?m)^(  (?:password|ca\.crt|tls\.crt|tls\.key)): \S{20,}$`)

var update = flag.Bool("update", false, "write the golden files again")

// The whole of what is applied, but for the CRD, which has a test of its own.
func TestGoldens(t *testing.T) {
	for name, values := range settings {
		t.Run(name, func(t *testing.T) {
			files := mustRender(t, jobSetChart, values)
			var b strings.Builder
			for _, file := range slices.Sorted(maps.Keys(files)) {
				content := strings.TrimSpace(files[file])
				if content == "" || path.Base(file) == "crds.yaml" || strings.HasSuffix(file, ".tpl") {
					continue
				}
				b.WriteString("### " + file + "\n" + made.ReplaceAllString(content, "$1: <made at random>") + "\n")
			}
			golden := filepath.Join("testdata", jobSetChart, strings.ReplaceAll(name, " ", "-")+".yaml")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("not as in %s (go test -update writes it again), -want +got:\n%s", golden, diff)
			}
		})
	}
}
