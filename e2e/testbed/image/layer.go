package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// base holds the files that programs expect in every root file system.
var base = map[string]string{
	"/etc/passwd": "root:x:0:0:root:/:/\nnonroot:x:65532:65532:nonroot:/tmp:/\nnobody:x:65534:65534:nobody:/tmp:/\n",
	"/etc/group":  "root:x:0:\nnonroot:x:65532:\nnobody:x:65534:\n",
	// Without this file, C library resolvers ignore /etc/hosts.
	"/etc/nsswitch.conf": "hosts: files dns\n",
}

// entry is one file of the layer.
type entry struct {
	mode    int64
	content []byte
}

// layer packs the files without compression, because the archive is read on the same host.
func (i Image) layer() (v1.Layer, error) {
	entries, err := i.entries()
	if err != nil {
		return nil, err
	}
	raw, err := pack(entries)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.NoCompression))
}

func (i Image) entries() (map[string]entry, error) {
	entries := map[string]entry{}
	for name, content := range base {
		entries[name] = entry{mode: 0o644, content: []byte(content)}
	}
	for name, source := range i.Files {
		if !path.IsAbs(name) || path.Clean(name) != name {
			return nil, fmt.Errorf("path %q in the image is not absolute and clean", name)
		}
		info, err := os.Stat(source)
		if err != nil {
			return nil, err
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		entries[name] = entry{mode: int64(info.Mode().Perm()), content: content}
	}
	return entries, nil
}

// pack writes the directories and then the files, in order and without timestamps.
func pack(entries map[string]entry) ([]byte, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, dir := range folders(entries) {
		mode := int64(0o755)
		if dir == "/tmp" {
			mode = 0o1777
		}
		header := &tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(dir, "/") + "/", Mode: mode}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name]
		header := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: e.mode, Size: int64(len(e.content))}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// folders returns every directory that the entries need, outermost first.
func folders(entries map[string]entry) []string {
	set := map[string]bool{"/tmp": true}
	for name := range entries {
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			set[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
