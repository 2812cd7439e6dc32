//go:build release

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"debug/buildinfo"
	"debug/elf"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helmregistry "helm.sh/helm/v4/pkg/registry"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/tools/charts/plain"
)

const version = "v1.2.3-test.1"

// TestRelease creates a release twice, pushes it to a temporary registry, and checks its contents.
func TestRelease(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://") + "/holdfast"
	key := writeKey(t)
	r := makeRelease(t, host, key, true)

	t.Run("images", func(t *testing.T) { checkImages(t, r, host) })
	t.Run("charts", func(t *testing.T) { checkCharts(t, r, host) })
	t.Run("archives and Krew manifest", func(t *testing.T) { checkPlugin(t, r) })
	t.Run("SBOMs", func(t *testing.T) { checkSBOMs(t, r) })
	t.Run("manifests", func(t *testing.T) { checkManifests(t, r, host) })
	t.Run("checksums", func(t *testing.T) { checkSums(t, r) })
	t.Run("signature", func(t *testing.T) { checkSignature(t, r) })
	t.Run("a second run creates the same files", func(t *testing.T) {
		again := makeRelease(t, host, key, false)
		if diff := cmp.Diff(read(t, r, checksums), read(t, again, checksums)); diff != "" {
			t.Errorf("checksums (-first +second):\n%s", diff)
		}
	})
}

func makeRelease(t *testing.T, host, key string, push bool) *release {
	t.Helper()
	r := &release{
		root: filepath.Join("..", "..", ".."), output: filepath.Join(t.TempDir(), "release"), registry: host, version: version,
		architectures: []string{"amd64", "arm64"},
	}
	if err := r.run(t.Context(), key, false, push); err != nil {
		t.Fatal(err)
	}
	return r
}

func writeKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, r *release, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(r.output, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// checkImages pulls each image for each architecture, as a node does.
func checkImages(t *testing.T, r *release, host string) {
	listed := read(t, r, "images.txt")
	for _, p := range images {
		ref, err := name.NewTag(host + "/" + p.name + ":" + version)
		if err != nil {
			t.Fatal(err)
		}
		all, err := remote.Index(ref)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := all.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if line := p.name + ":" + version + "@" + digest.String(); !strings.Contains(listed, line+"\n") {
			t.Errorf("images.txt has no line %s", line)
		}
		manifest, err := all.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(manifest.Manifests) != len(r.architectures) {
			t.Errorf("%s: %d platforms", p.name, len(manifest.Manifests))
		}
		for i, arch := range r.architectures {
			if platform := manifest.Manifests[i].Platform; platform == nil || platform.String() != "linux/"+arch {
				t.Errorf("%s: platform %v, want linux/%s", p.name, platform, arch)
			}
			image, err := all.Image(manifest.Manifests[i].Digest)
			if err != nil {
				t.Fatal(err)
			}
			checkImage(t, p, arch, image)
		}
	}
}

func checkImage(t *testing.T, p program, arch string, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	user := "65532:65532"
	if p.name == "agent" {
		user = "0:0"
	}
	if config.OS != "linux" || config.Architecture != arch || config.Config.User != user {
		t.Errorf("%s for %s: OS %s, architecture %s, user %s", p.name, arch, config.OS, config.Architecture, config.Config.User)
	}
	if diff := cmp.Diff([]string{"/program"}, config.Config.Entrypoint); diff != "" {
		t.Errorf("%s: entrypoint (-want +got):\n%s", p.name, diff)
	}
	if label := config.Config.Labels["org.opencontainers.image.version"]; label != version {
		t.Errorf("%s: the version label is %q", p.name, label)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%s: %d layers: %v", p.name, len(layers), err)
	}
	open, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	files := untar(t, open)
	if diff := cmp.Diff([]string{"program"}, slices.Collect(maps.Keys(files))); diff != "" {
		t.Fatalf("%s: files (-want +got):\n%s", p.name, diff)
	}
	checkProgram(t, p, arch, files["program"])
}

// untar returns the contents of executable files, and empty content for all other files.
func untar(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Mode&0o111 == 0 {
			content = nil
		}
		found[header.Name] = content
	}
}

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// checkProgram checks that the program is built for the architecture, is static, and matches the image name.
func checkProgram(t *testing.T, p program, arch string, content []byte) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("%s for %s: %v", p.name, arch, err)
	}
	if file.Machine != machines[arch] {
		t.Errorf("%s for %s is a program for %s", p.name, arch, file.Machine)
	}
	libraries, err := file.ImportedLibraries()
	if err == nil && len(libraries) > 0 || slices.ContainsFunc(file.Progs, func(s *elf.Prog) bool { return s.Type == elf.PT_INTERP }) {
		t.Errorf("%s for %s is not static: %q", p.name, arch, libraries)
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if want := mainPackage(p); info.Path != want {
		t.Errorf("%s is %s, want %s", p.name, info.Path, want)
	}
	if !slices.Contains(silent, p.name) && !bytes.Contains(content, []byte(version)) {
		t.Errorf("%s for %s has no version", p.name, arch)
	}
}

// silent lists the programs that do not report a version.
var silent = []string{"agent", "holdfast-exec", "elastic-rendezvous"}

func mainPackage(p program) string {
	return "github.com/holdfast-project/holdfast/" + filepath.Join(p.module, p.main)
}

// checkCharts pulls each chart as Helm does, and compares it with the released archive.
func checkCharts(t *testing.T, r *release, host string) {
	client, err := helmregistry.NewClient(helmregistry.ClientOptPlainHTTP())
	if err != nil {
		t.Fatal(err)
	}
	for _, chartName := range charts {
		archive := read(t, r, chartName+"-1.2.3-test.1.tgz")
		pulled, err := client.Pull(host + "/charts/" + chartName + ":1.2.3-test.1")
		if err != nil {
			t.Fatal(err)
		}
		if string(pulled.Chart.Data) != archive {
			t.Errorf("%s: the chart in the registry differs", chartName)
		}
		loaded, err := loader.LoadArchive(strings.NewReader(archive))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range append(loaded.Dependencies(), loaded) {
			if c.Metadata.Version != "1.2.3-test.1" || c.Metadata.AppVersion != version {
				t.Errorf("%s: %s has version %s and appVersion %s", chartName, c.Name(), c.Metadata.Version, c.Metadata.AppVersion)
			}
		}
		folder := t.TempDir()
		if err := untarTo(archive, folder); err != nil {
			t.Fatal(err)
		}
		objects, err := plain.Objects(filepath.Join(folder, chartName), loaded.AppVersion(), map[string]any{"global": map[string]any{"imageRegistry": host}})
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := plain.YAML(chartName, objects)
		if err != nil {
			t.Fatal(err)
		}
		checkReferences(t, chartName, string(rendered), host)
	}
}

func untarTo(archive, folder string) error {
	zipped, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		return err
	}
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		file := filepath.Join(folder, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
}

var imageReference = regexp.MustCompile(`(?m)^\s*(?:- )?(?:image: |--[a-z-]+-image=)"?([^\s"]+)`)

// storeImage is a public image that is not ours.
const storeImage = "docker.io/valkey/valkey:8.1.4"

// checkReferences checks that manifests reference only released images, with their version, and the store's image.
func checkReferences(t *testing.T, in, text, host string) {
	t.Helper()
	found := imageReference.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		t.Errorf("%s does not name any image", in)
	}
	for _, match := range found {
		released := slices.ContainsFunc(images, func(p program) bool { return match[1] == host+"/"+p.name+":"+version })
		if !released && match[1] != storeImage {
			t.Errorf("%s names %s, which is not released", in, match[1])
		}
	}
}

func checkManifests(t *testing.T, r *release, host string) {
	for _, file := range []string{
		"appwrapper-controller", "elastic-operator", "holdfast-inplace", "jobset-controller", "jobset-controller-in-place", "rescheduler", "rescheduler-scheduler",
	} {
		checkReferences(t, file, read(t, r, file+".yaml"), host)
	}
}

// checkPlugin installs the plugin as Krew does: from the archives, according to the manifest.
func checkPlugin(t *testing.T, r *release) {
	var manifest struct {
		Spec struct {
			Version   string
			Platforms []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, r, "krew.yaml")), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Spec.Version != version || len(manifest.Spec.Platforms) != len(r.architectures) {
		t.Errorf("version %s, %d platforms", manifest.Spec.Version, len(manifest.Spec.Platforms))
	}
	for i, platform := range manifest.Spec.Platforms {
		arch := r.architectures[i]
		if diff := cmp.Diff(map[string]string{"os": "linux", "arch": arch}, platform.Selector.MatchLabels); diff != "" {
			t.Errorf("platform (-want +got):\n%s", diff)
		}
		file, ours := strings.CutPrefix(platform.URI, source+"/releases/download/"+version+"/")
		if !ours {
			t.Errorf("the manifest has the URI %s", platform.URI)
		}
		archive := read(t, r, file)
		if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(archive))); sum != platform.SHA256 {
			t.Errorf("%s has checksum %s, the manifest says %s", file, sum, platform.SHA256)
		}
		zipped, err := gzip.NewReader(strings.NewReader(archive))
		if err != nil {
			t.Fatal(err)
		}
		files := untar(t, zipped)
		if diff := cmp.Diff([]string{"LICENSE", platform.Bin}, slices.Sorted(maps.Keys(files))); diff != "" {
			t.Errorf("files of %s (-want +got):\n%s", file, diff)
		}
		checkProgram(t, plugin, arch, files[platform.Bin])
	}
}

func checkSBOMs(t *testing.T, r *release) {
	for _, p := range append(slices.Clone(images), plugin) {
		for _, arch := range r.architectures {
			var bom struct {
				BOMFormat string
				Metadata  struct {
					Component struct{ Name, Version string }
				}
				Components []struct{ Name string }
			}
			if err := json.Unmarshal([]byte(read(t, r, p.name+"_linux_"+arch+".cdx.json")), &bom); err != nil {
				t.Fatal(err)
			}
			main := bom.Metadata.Component
			if want := "github.com/holdfast-project/holdfast/" + p.module; bom.BOMFormat != "CycloneDX" || main.Name != want || main.Version != version {
				t.Errorf("%s for %s: %s of %s %s, want %s", p.name, arch, bom.BOMFormat, main.Name, main.Version, want)
			}
			if !slices.Contains(bom.Components, struct{ Name string }{"std"}) {
				t.Errorf("%s for %s: the standard library is missing", p.name, arch)
			}
		}
	}
}

// checkSums checks that each file has a line, and that each line has a file.
func checkSums(t *testing.T, r *release) {
	want := map[string]string{}
	entries, err := os.ReadDir(r.output)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if file := entry.Name(); !entry.IsDir() && !slices.Contains([]string{checksums, checksums + ".sig", "holdfast.pub"}, file) {
			want[file] = fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, r, file))))
		}
	}
	got := map[string]string{}
	for line := range strings.Lines(read(t, r, checksums)) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		got[file] = sum
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checksums (-want +got):\n%s", diff)
	}
}

// checkSignature verifies the signature in the two ways that docs/releasing.md describes, both for the checksums and for
// modified ones.
func checkSignature(t *testing.T, r *release) {
	dir := t.TempDir()
	signature, err := base64.StdEncoding.DecodeString(read(t, r, checksums+".sig"))
	if err != nil {
		t.Fatal(err)
	}
	content := []byte(read(t, r, checksums))
	changed := slices.Clone(content)
	changed[10] ^= 1
	path := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	key, sig := filepath.Join(r.output, "holdfast.pub"), filepath.Join(r.output, checksums+".sig")
	openssl := []string{"openssl", "dgst", "-sha256", "-verify", key, "-signature", path("signature", signature)}
	cosign := []string{
		"go", "tool", "-modfile=" + filepath.Join("..", "..", "..", "tools", "cosign", "go.mod"), "cosign", "verify-blob", "--insecure-ignore-tlog", "--key", key, "--signature", sig,
	}
	for _, command := range [][]string{openssl, cosign} {
		verify := func(file string) error {
			_, err := run(t.Context(), ".", []string{"GOWORK=off"}, command[0], append(command[1:len(command):len(command)], file)...)
			return err
		}
		if err := verify(path("good", content)); err != nil {
			t.Errorf("the signature does not match the checksums: %v", err)
		}
		if verify(path("changed", changed)) == nil {
			t.Errorf("%s accepts changed checksums", command[0])
		}
	}
}
