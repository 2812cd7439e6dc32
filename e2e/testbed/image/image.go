// Package image builds container images from static programs. It writes archives that containerd can import, because
// there is no registry.
package image

import (
	"fmt"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image describes an image for linux/amd64. In addition to its files it contains /tmp, /etc/passwd, /etc/group and
// /etc/nsswitch.conf.
type Image struct {
	// Name is the full reference with a tag, such as localhost/agent:1. With the tag latest, the kubelet pulls the
	// image unless the pod specifies otherwise.
	Name string
	// Files maps paths in the image to files on this host. Permissions are preserved. Programs must be static, unless
	// Files includes their libraries.
	Files      map[string]string
	Entrypoint []string
	Cmd        []string
	Env        []string
	WorkingDir string
	// User is a name in /etc/passwd (root, nonroot, nobody) or a numeric ID. The default is root. runAsNonRoot accepts
	// only numeric IDs.
	User   string
	Labels map[string]string
}

// Write writes the archive. The same image always produces the same bytes.
func (i Image) Write(path string) error {
	tag, err := name.NewTag(i.Name)
	if err != nil {
		return fmt.Errorf("naming an image: %w", err)
	}
	img, err := i.build()
	if err != nil {
		return fmt.Errorf("building image %s: %w", i.Name, err)
	}
	temporary := path + ".new"
	if err := tarball.WriteToFile(temporary, tag, img); err != nil {
		return fmt.Errorf("writing image %s: %w", i.Name, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("writing image %s: %w", i.Name, err)
	}
	return nil
}

func (i Image) build() (v1.Image, error) {
	layer, err := i.layer()
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", "amd64"
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.Config = v1.Config{
		Entrypoint: i.Entrypoint,
		Cmd:        i.Cmd,
		Env:        append([]string{"PATH=/usr/local/bin:/usr/bin:/bin:/"}, i.Env...),
		WorkingDir: i.WorkingDir,
		User:       i.User,
		Labels:     i.Labels,
	}
	return mutate.ConfigFile(img, file)
}
