package testbed

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/testbed/image"
)

// LoadImage imports the images of an archive (in Docker or OCI format) on every node. Pods use them with
// imagePullPolicy IfNotPresent or Never.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	path, err := filepath.Abs(archive)
	if err != nil {
		return fmt.Errorf("loading %s: %w", archive, err)
	}
	for _, n := range c.layout.nodes(c.options.Nodes) {
		if err := c.layout.importImage(ctx, n, path); err != nil {
			return err
		}
	}
	return nil
}

// importImage imports an archive into containerd's namespace k8s.io, which contains the kubelet's images.
func (l Layout) importImage(ctx context.Context, n node, archive string) error {
	cmd := exec.CommandContext(ctx, l.program("ctr"),
		"--address", n.socket(), "--namespace", "k8s.io", "images", "import", archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("loading %s into %s: %w: %s", archive, n.name(), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// ensureSandboxImage imports the image that every pod needs on every node.
func (u *up) ensureSandboxImage(ctx context.Context) error {
	archive := u.layout.state("pause.tar")
	for _, n := range u.nodes {
		if known, err := n.hasImage(ctx, sandboxImage); err != nil || known {
			if err != nil {
				return err
			}
			continue
		}
		pause := image.Image{
			Name:       sandboxImage,
			Files:      map[string]string{"/pause": u.layout.program("pause")},
			Entrypoint: []string{"/pause"},
			User:       "65534:65534",
		}
		if err := pause.Write(archive); err != nil {
			return err
		}
		if err := u.layout.importImage(ctx, n, archive); err != nil {
			return err
		}
	}
	return nil
}
