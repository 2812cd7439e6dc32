package binaries

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStamp(t *testing.T) {
	root := t.TempDir()
	component := Component{Name: "tool", Module: "tools/x", Package: "./tool", Inputs: []string{"go.mod", "*.go"}}
	write := func(name, content string) {
		file := filepath.Join(root, "tools/x", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stamp := func(c Component) string {
		got, err := c.stamp(root)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	write("go.mod", "module x")
	write("main.go", "package main")
	first := stamp(component)

	write("README.md", "changed")
	if stamp(component) != first {
		t.Error("a file that is not an input changes the stamp")
	}
	flagged := component
	flagged.LDFlags = "-X a=b"
	if stamp(flagged) == first {
		t.Error("other flags do not change the stamp")
	}
	write("main.go", "package  main")
	changed := stamp(component)
	if changed == first {
		t.Error("a changed source does not change the stamp")
	}
	write("more.go", "package main")
	if stamp(component) == changed {
		t.Error("a new source does not change the stamp")
	}
}

func TestCurrentRequiresTheBinary(t *testing.T) {
	dir := t.TempDir()
	if err := keep(dir, "tool", "abc"); err != nil {
		t.Fatal(err)
	}
	if got := current(dir, "tool"); got != "" {
		t.Errorf("a stamp without a binary counts: %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "tool"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := current(dir, "tool"); got != "abc" {
		t.Errorf("got %q, want abc", got)
	}
}

// Each component's inputs must exist. Otherwise its stamp would never change.
func TestInputsExist(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	components := []Component{Kueue(), PublishedJobSet(), LeaderWorkerSet(), Trainer()}
	for _, minor := range KubernetesMinors() {
		components = append(append(components, Default(minor)...), KubeProxy(minor))
	}
	for _, component := range components {
		for _, pattern := range component.Inputs {
			files, err := filepath.Glob(filepath.Join(root, component.Module, pattern))
			if err != nil || len(files) == 0 {
				t.Errorf("%s: no file matches %s in %s (%v)", component.Name, pattern, component.Module, err)
			}
		}
	}
}

// The versions shown to users must match those pinned by the modules.
func TestVersionsMatchTheModules(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{
		"tools/containerd":    "github.com/containerd/containerd/v2 " + containerdVersion,
		"tools/kueue":         "sigs.k8s.io/kueue " + kueueVersion,
		JobSetModule:          "sigs.k8s.io/jobset " + JobSetVersion,
		LeaderWorkerSetModule: "sigs.k8s.io/lws " + LeaderWorkerSetVersion,
		TrainerModule:         "github.com/kubeflow/trainer/v2 " + TrainerVersion,
	}
	for minor, version := range kubernetesVersions {
		lines[kubernetesModule(minor)] = "k8s.io/kubernetes " + version
	}
	for module, line := range lines {
		raw, err := os.ReadFile(filepath.Join(root, module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), line) {
			t.Errorf("%s does not require %s", module, line)
		}
	}
}

func TestTickPrintsTheOutcome(t *testing.T) {
	var out bytes.Buffer
	tick(&out, "building a")(nil)
	tick(&out, "building b")(errors.New("no"))
	want := "building a: done after 0s\nbuilding b: failed after 0s\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// The binaries of different versions must not overwrite each other.
func TestVersionsOfKubernetesHaveSeparateFolders(t *testing.T) {
	taken := map[string]string{}
	for _, minor := range KubernetesMinors() {
		for _, component := range append(Default(minor), KubeProxy(minor)) {
			if !strings.HasPrefix(component.Package, "k8s.io/kubernetes/") {
				continue
			}
			path := filepath.Join(component.Folder, component.Name)
			if other, found := taken[path]; found {
				t.Errorf("%s belongs to %s and to %s", path, other, minor)
			}
			taken[path] = minor
			if !strings.Contains(component.LDFlags, "gitVersion=v"+minor+".") {
				t.Errorf("%s of %s reports another version: %s", component.Name, minor, component.LDFlags)
			}
		}
	}
	if KubernetesFolder(DefaultKubernetes) != "" {
		t.Error("tests do not find the default version")
	}
}
