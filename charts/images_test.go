package charts

import (
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	imageList  = regexp.MustCompile(`(?s)\ndefine IMAGES\n(.*?)\nendef\n`)
	ownImage   = regexp.MustCompile(`repository: holdfast-project/(\S+)`)
	dockerArgs = regexp.MustCompile(`(?m)^ARG (\w+)`)
)

// Every image that a chart asks for is one that `make images` builds, of a program that exists, with arguments that the Dockerfile takes.
func TestImagesAreBuilt(t *testing.T) {
	asked := map[string]bool{}
	for chart := range installed {
		for _, found := range ownImage.FindAllStringSubmatch(string(mustRead(t, filepath.Join(chart, "values.yaml"))), -1) {
			asked[found[1]] = true
		}
	}
	list := imageList.FindStringSubmatch(string(mustRead(t, filepath.Join("..", "Makefile"))))
	if list == nil {
		t.Fatal("the Makefile has no list of images")
	}
	var taken []string
	for _, found := range dockerArgs.FindAllStringSubmatch(string(mustRead(t, filepath.Join("..", "Dockerfile"))), -1) {
		taken = append(taken, found[1])
	}
	built := map[string]bool{}
	for _, line := range strings.Split(list[1], "\n") {
		words := strings.Fields(line)
		if len(words) < 3 || len(words) > 4 {
			t.Fatalf("it is not of three words and an argument: %q", line)
		}
		built[words[0]] = true
		checkMain(t, filepath.Join("..", words[1], words[2]))
		for _, argument := range words[3:] {
			if name, _, _ := strings.Cut(argument, "="); !slices.Contains(taken, name) {
				t.Errorf("%s: the Dockerfile takes no %s", words[0], name)
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(built))); diff != "" {
		t.Errorf("images (-charts +Makefile):\n%s", diff)
	}
}

func checkMain(t *testing.T, folder string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, "main.go"), nil, parser.PackageClauseOnly)
	if err != nil || file.Name.Name != "main" {
		t.Errorf("%s is no program: %v", folder, err)
	}
}

// Images are static and run as nobody, whatever the base of the day.
func TestTheDockerfileMakesSmallSafeImages(t *testing.T) {
	text := string(mustRead(t, filepath.Join("..", "Dockerfile")))
	_, final, _ := strings.Cut(text, "\nFROM scratch\n")
	for part, where := range map[string]string{
		"CGO_ENABLED=0": text, "GOARCH=${TARGETARCH}": text, "--platform=$BUILDPLATFORM": text,
		"ARG RUN_AS=65532:65532": final, "USER ${RUN_AS}": final, `ENTRYPOINT ["/program"]`: final,
	} {
		if !strings.Contains(where, part) {
			t.Errorf("%s is missing", part)
		}
	}
}
