package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "agent")
	if err := os.WriteFile(program, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	image := Image{
		Name:       "localhost/agent:1",
		Files:      map[string]string{"/usr/local/bin/agent": program},
		Entrypoint: []string{"/usr/local/bin/agent"},
		User:       "65532",
		Labels:     map[string]string{"a": "b"},
		Env:        []string{"C=d"},
	}
	archive := filepath.Join(dir, "agent.tar")
	if err := image.Write(archive); err != nil {
		t.Fatal(err)
	}

	tags, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(archive) })
	if err != nil || tags[0].RepoTags[0] != "localhost/agent:1" {
		t.Fatalf("tags %v, error %v", tags, err)
	}
	read, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := read.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		Entrypoint: image.Entrypoint, User: "65532", Labels: image.Labels,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/", "C=d"},
	}
	if diff := cmp.Diff(want, file.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if file.OS+"/"+file.Architecture != "linux/amd64" {
		t.Errorf("platform %s/%s", file.OS, file.Architecture)
	}
	wantModes := map[string]int64{
		"etc/": 0o755, "etc/group": 0o644, "etc/nsswitch.conf": 0o644, "etc/passwd": 0o644,
		"tmp/": 0o1777, "usr/": 0o755, "usr/local/": 0o755, "usr/local/bin/": 0o755, "usr/local/bin/agent": 0o755,
	}
	if diff := cmp.Diff(wantModes, modes(t, read)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	if err := image.Write(archive + "2"); err != nil {
		t.Fatal(err)
	}
	first, _ := os.ReadFile(archive)
	second, _ := os.ReadFile(archive + "2")
	if !bytes.Equal(first, second) {
		t.Error("the same image produces different archives")
	}
}

func TestWriteRejects(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "agent")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, image := range map[string]Image{
		"a name that is none":         {Name: "UPPER CASE"},
		"a relative path":             {Name: "localhost/a:1", Files: map[string]string{"agent": program}},
		"a path out of the image":     {Name: "localhost/a:1", Files: map[string]string{"/../agent": program}},
		"a program that is not there": {Name: "localhost/a:1", Files: map[string]string{"/agent": program + "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			archive := filepath.Join(dir, "x.tar")
			if err := image.Write(archive); err == nil {
				t.Error("no error")
			}
			if _, err := os.Stat(archive); err == nil {
				t.Error("an archive was written despite the error")
			}
		})
	}
}

func modes(t *testing.T, image v1.Image) map[string]int64 {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	got := map[string]int64{}
	for r := tar.NewReader(raw); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got[header.Name] = header.Mode
	}
}
