package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `# A comment.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG MODULE
ARG PROGRAM=./cmd/manager
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src/${MODULE}
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache \
    # another comment
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} GOWORK=off go build -o /program \
    ${PROGRAM}

from scratch
COPY --from=build /program /program
`

func parsed(t *testing.T) []Stage {
	t.Helper()
	stages, err := Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

func TestParse(t *testing.T) {
	stages := parsed(t)
	if len(stages) != 2 || stages[0].Name != "build" || stages[0].From != "--platform=$BUILDPLATFORM golang:1.26" || stages[1].From != "scratch" {
		t.Fatalf("stages %+v", stages)
	}
	if diff := cmp.Diff(map[string]string{"MODULE": "", "PROGRAM": "./cmd/manager", "TARGETOS": "", "TARGETARCH": ""}, stages[0].Arguments()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"MODULE", "TARGETOS", "TARGETARCH", "PROGRAM"}, stages[0].References()); diff != "" {
		t.Error(diff)
	}
	want := []Step{{"COPY", "--from=build /program /program"}}
	if diff := cmp.Diff(want, stages[1].Steps); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "RUN true\nFROM scratch\n"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestParseList(t *testing.T) {
	got, err := List("a:\n\ndefine IMAGES\nagent agent ./cmd/agent RUN_AS=0:0\nmanager jobset-controller ./cmd/manager\nendef\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Image{
		{"agent", "agent", "./cmd/agent", map[string]string{"RUN_AS": "0:0"}}, {"manager", "jobset-controller", "./cmd/manager", map[string]string{}},
	}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"agent agent", "a b c D=e f"} {
		if _, err := ParseList(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// What the stage says is carried out, for another machine too, and what it makes is looked at.
func TestAProgramIsBuiltForAnotherMachine(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.MkdirAll(filepath.Join(root, "m"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "m", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(out, "program")
	image := Image{Name: "m", Module: "m", Program: "."}
	if err := Build(t.Context(), parsed(t)[0], image, root, "linux/arm64", nil, file); err != nil {
		t.Fatal(err)
	}
	if err := CheckStatic(file, "linux/arm64"); err != nil {
		t.Error(err)
	}
	if err := CheckStatic(file, "linux/amd64"); err == nil || !strings.Contains(err.Error(), "EM_AARCH64") {
		t.Errorf("as one for amd64: %v", err)
	}
	if err := CheckStatic(file, "linux/riscv64"); err == nil {
		t.Error("a platform nobody knows is taken")
	}
	image.Program = "./nothing"
	if err := Build(t.Context(), parsed(t)[0], image, root, "linux/arm64", nil, file); err == nil {
		t.Error("nothing is built")
	}
}

func TestAProgramThatNeedsALoaderIsNotStatic(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	for platform := range machines {
		if err := CheckStatic(shell, platform); err == nil {
			t.Errorf("%s passes for a static program of %s", shell, platform)
		}
	}
}
