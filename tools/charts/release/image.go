package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// image returns an image, built from scratch, that contains only the program, at /program.
func (r *release) image(p program, arch string, content []byte) (v1.Image, error) {
	layer, err := layerOf(content, r.created)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, fmt.Errorf("adding the layer of %s: %w", p.name, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of %s: %w", p.name, err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.created}
	config.Config = v1.Config{
		Entrypoint: []string{"/program"}, // the image has no shell
		User:       p.user,
		WorkingDir: "/",
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    p.name,
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.source":   source,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, config)
}

// index returns an index with one image per architecture.
func index(images map[string]v1.Image, architectures []string) v1.ImageIndex {
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		all = mutate.AppendManifests(all, mutate.IndexAddendum{
			Add: images[arch], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return all
}

// layerOf returns a layer with the program. The same program and time always result in the same bytes.
func layerOf(content []byte, created time.Time) (v1.Layer, error) {
	var raw bytes.Buffer
	w := tar.NewWriter(&raw)
	if err := addFile(w, "program", 0o755, content, created); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

func addFile(w *tar.Writer, name string, mode int64, content []byte, modified time.Time) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: modified, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// referenceAnnotation holds an image's name in a layout: its path below the registry, and its tag.
const referenceAnnotation = "org.opencontainers.image.ref.name"

func reference(to string) layout.Option {
	return layout.WithAnnotations(map[string]string{referenceAnnotation: to})
}

// contents returns the index of the image layout and its descriptors.
func contents(oci layout.Path) (v1.ImageIndex, []v1.Descriptor, error) {
	index, err := oci.ImageIndex()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the image layout: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the image layout: %w", err)
	}
	return index, manifest.Manifests, nil
}

// list writes the images and charts with their digests to a file. The signed checksums cover this file, and
// therefore the images.
func (r *release) list(oci layout.Path) error {
	_, images, err := contents(oci)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, image := range images {
		fmt.Fprintf(&text, "%s@%s\n", image.Annotations[referenceAnnotation], image.Digest)
	}
	return os.WriteFile(filepath.Join(r.output, "images.txt"), []byte(text.String()), 0o644)
}

// push uploads all images and charts, using the credentials in the Docker configuration file.
func (r *release) push(ctx context.Context, oci layout.Path) error {
	index, images, err := contents(oci)
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithContext(ctx)}
	for _, image := range images {
		to, err := name.ParseReference(r.registry + "/" + image.Annotations[referenceAnnotation])
		if err != nil {
			return fmt.Errorf("naming an image: %w", err)
		}
		if err := upload(index, image, to, options); err != nil {
			return fmt.Errorf("pushing %s: %w", to, err)
		}
		fmt.Println("pushed", to)
	}
	return nil
}

// upload copies an image, or an index of images.
func upload(from v1.ImageIndex, image v1.Descriptor, to name.Reference, options []remote.Option) error {
	if image.MediaType.IsIndex() {
		index, err := from.ImageIndex(image.Digest)
		if err != nil {
			return err
		}
		return remote.WriteIndex(to, index, options...)
	}
	single, err := from.Image(image.Digest)
	if err != nil {
		return err
	}
	return remote.Write(to, single, options...)
}
