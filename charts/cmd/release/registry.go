package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// referenceAnnotation names an image in a layout by its path below the registry and its tag.
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

// list writes the images and charts with their digests. The signed checksums cover this file, and so the images.
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

// push uploads all images and charts, with the credentials of the docker configuration file.
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
