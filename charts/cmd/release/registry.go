package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// referenceAnnotation names an image of a layout, by its path below the registry and its tag.
const referenceAnnotation = "org.opencontainers.image.ref.name"

func reference(to string) layout.Option {
	return layout.WithAnnotations(map[string]string{referenceAnnotation: to})
}

// list writes the images and charts with their digests. The signed checksums cover the file, and so the images.
func (r *release) list(oci layout.Path) error {
	index, err := oci.ImageIndex()
	if err != nil {
		return fmt.Errorf("reading the image layout: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("reading the image layout: %w", err)
	}
	var text strings.Builder
	for _, image := range manifest.Manifests {
		fmt.Fprintf(&text, "%s@%s\n", image.Annotations[referenceAnnotation], image.Digest)
	}
	return os.WriteFile(filepath.Join(r.output, "images.txt"), []byte(text.String()), 0o644)
}

// push uploads all images and charts, with the credentials of docker's configuration.
func (r *release) push(ctx context.Context, oci layout.Path) error {
	index, err := oci.ImageIndex()
	if err != nil {
		return fmt.Errorf("reading the image layout: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("reading the image layout: %w", err)
	}
	options := []remote.Option{remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithContext(ctx)}
	for _, image := range manifest.Manifests {
		to, err := name.ParseReference(r.registry + "/" + image.Annotations[referenceAnnotation])
		if err != nil {
			return fmt.Errorf("naming an image: %w", err)
		}
		if image.MediaType.IsIndex() {
			child, childErr := index.ImageIndex(image.Digest)
			if err = childErr; err == nil {
				err = remote.WriteIndex(to, child, options...)
			}
		} else {
			child, childErr := index.Image(image.Digest)
			if err = childErr; err == nil {
				err = remote.Write(to, child, options...)
			}
		}
		if err != nil {
			return fmt.Errorf("pushing %s: %w", to, err)
		}
		fmt.Println("pushed", to)
	}
	return nil
}
