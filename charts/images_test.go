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

	"github.com/holdfast-project/holdfast/charts/internal/images"
)

var (
	ownImage  = regexp.MustCompile(`repository: (\S+)`)
	goVersion = regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
)

// stages are those of the Dockerfile: one that builds, and the image.
func stages(t *testing.T) (build, final images.Stage) {
	t.Helper()
	all, err := images.Parse(string(mustRead(t, filepath.Join("..", "Dockerfile"))))
	if err != nil || len(all) != 2 {
		t.Fatalf("there are %d stages (%v)", len(all), err)
	}
	return all[0], all[1]
}

// Every image that a chart asks for is one that `make images` builds, of a program that exists, with arguments that the Dockerfile takes.
func TestImagesAreBuilt(t *testing.T) {
	asked := map[string]bool{}
	for chart := range installed {
		for _, found := range ownImage.FindAllStringSubmatch(string(mustRead(t, filepath.Join(chart, "values.yaml"))), -1) {
			asked[found[1]] = true
		}
	}
	delete(asked, "valkey") // the store's is not ours
	list, err := images.List(string(mustRead(t, filepath.Join("..", "Makefile"))))
	if err != nil {
		t.Fatal(err)
	}
	build, final := stages(t)
	taken := build.Arguments()
	maps.Copy(taken, final.Arguments())
	built := map[string]bool{}
	for _, image := range list {
		built[image.Name] = true
		checkMain(t, filepath.Join("..", image.Module, image.Program))
		for name := range image.Arguments {
			if _, there := taken[name]; !there {
				t.Errorf("%s: the Dockerfile takes no %s", image.Name, name)
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

// An argument that is not declared in its stage is empty there, without a word; one that nobody uses is a promise.
func TestTheDockerfileUsesItsArguments(t *testing.T) {
	build, final := stages(t)
	for name, stage := range map[string]images.Stage{"build": build, "final": final} {
		declared := slices.Sorted(maps.Keys(stage.Arguments()))
		if diff := cmp.Diff(declared, slices.Sorted(slices.Values(stage.References()))); diff != "" {
			t.Errorf("%s: arguments (-declared +used):\n%s", name, diff)
		}
	}
}

// The stage that builds runs on the machine that builds, with the Go of the modules, and makes a static program for another one. `make cross`
// carries it out.
func TestTheDockerfileBuildsStaticPrograms(t *testing.T) {
	build, _ := stages(t)
	version := goVersion.FindStringSubmatch(string(mustRead(t, filepath.Join("..", "go.work"))))[1]
	if want := "--platform=$BUILDPLATFORM golang:" + version; build.From != want || build.Name != "build" {
		t.Errorf("it is built from %s as %s, want %s", build.From, build.Name, want)
	}
	for _, part := range []string{"CGO_ENABLED=0 ", "GOOS=${TARGETOS} ", "GOARCH=${TARGETARCH} ", "GOWORK=off ", "-trimpath "} {
		if run := build.All("RUN"); len(run) != 1 || !strings.Contains(run[0], part) {
			t.Errorf("%s is missing: %q", part, run)
		}
	}
}

// The image holds the program and nothing else, whose user is nobody by number: a pod's runAsNonRoot cannot read names.
func TestTheDockerfileMakesSmallSafeImages(t *testing.T) {
	_, final := stages(t)
	if final.From != "scratch" {
		t.Errorf("its base is %s", final.From)
	}
	want := []images.Step{
		{Word: "ARG", Rest: "RUN_AS=65532:65532"},
		{Word: "COPY", Rest: "--from=build /program /program"},
		{Word: "USER", Rest: "${RUN_AS}"},
		{Word: "ENTRYPOINT", Rest: `["/program"]`}, // without a shell, which is not there
	}
	if diff := cmp.Diff(want, final.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

var replaced = regexp.MustCompile(`(?m)=> (\.\.?/\S+)`)

// What .dockerignore keeps out of the build is needed by no program.
func TestWhatTheBuilderIsNotGivenIsNotNeeded(t *testing.T) {
	ignored := strings.Fields(string(mustRead(t, filepath.Join("..", ".dockerignore"))))
	list, err := images.List(string(mustRead(t, filepath.Join("..", "Makefile"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range list {
		needed := []string{image.Module}
		for _, match := range replaced.FindAllStringSubmatch(string(mustRead(t, filepath.Join("..", image.Module, "go.mod"))), -1) {
			needed = append(needed, filepath.Join(image.Module, match[1]))
		}
		for _, folder := range needed {
			if top, _, _ := strings.Cut(folder, "/"); slices.Contains(ignored, top) {
				t.Errorf("%s needs %s, which .dockerignore keeps out", image.Name, folder)
			}
		}
	}
}
