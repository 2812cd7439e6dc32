package helm

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/testbed/image"
)

// Names of the images built by LoadImages and LoadAppWrapperImage.
const (
	managerImage      = "localhost/holdfast/jobset-manager"
	orchestratorImage = "localhost/holdfast/jobset-orchestrator"
	valkeyImage       = "localhost/holdfast/valkey"
	appWrapperImage   = "localhost/holdfast/appwrapper-manager"
	tag               = "dev"
)

// valkeyServer is the binary from Debian 13, as installed by hack/install-valkey.sh.
const valkeyServer = "/opt/holdfast/debian-13/usr/bin/valkey-server"

// ImageValues returns values that make the JobSet controller's chart use the images that LoadImages builds.
func ImageValues() Values {
	return Values{
		"image":        local(managerImage),
		"orchestrator": Values{"image": local(orchestratorImage)},
		"valkey":       Values{"image": local(valkeyImage)},
	}
}

// AppWrapperValues returns values that make the AppWrapper controller's chart use the image that LoadAppWrapperImage builds.
func AppWrapperValues() Values { return Values{"image": local(appWrapperImage)} }

// Image returns the chart values for an image with the name registry/repository:tag.
func Image(name string) Values {
	registry, repository := path.Split(name)
	repository, tag, _ := strings.Cut(repository, ":")
	return Values{"registry": strings.TrimSuffix(registry, "/"), "repository": repository, "tag": tag}
}

func local(repository string) Values {
	return Image(repository + ":" + tag)
}

// Node is a node that loads image archives.
type Node interface {
	LoadImage(ctx context.Context, archive string) error
}

// LoadImages builds images of the manager and the orchestrator from the binaries in bin, and an image of a store, and loads them into the
// node.
func LoadImages(ctx context.Context, node Node, bin string) error {
	store, err := storeImage(ctx, valkeyImage+":"+tag)
	if err != nil {
		return err
	}
	return load(ctx, node,
		programImage(managerImage, filepath.Join(bin, "manager")),
		programImage(orchestratorImage, filepath.Join(bin, "orchestrator")),
		store,
	)
}

// LoadAppWrapperImage builds an image of the AppWrapper manager from the binary in bin, and loads it into the node.
func LoadAppWrapperImage(ctx context.Context, node Node, bin string) error {
	return load(ctx, node, programImage(appWrapperImage, filepath.Join(bin, "appwrapper-manager")))
}

func load(ctx context.Context, node Node, images ...image.Image) error {
	dir, err := os.MkdirTemp("", "holdfast-images-")
	if err != nil {
		return fmt.Errorf("building images: %w", err)
	}
	defer os.RemoveAll(dir)
	for _, img := range images {
		archive := filepath.Join(dir, filepath.Base(img.Entrypoint[0])+".tar")
		if err := img.Write(archive); err != nil {
			return err
		}
		if err := node.LoadImage(ctx, archive); err != nil {
			return err
		}
	}
	return nil
}

func programImage(name, program string) image.Image {
	entrypoint := "/" + filepath.Base(program)
	return image.Image{
		Name: name + ":" + tag, Entrypoint: []string{entrypoint}, User: "65532:65532",
		Files: map[string]string{entrypoint: program},
	}
}

func storeImage(ctx context.Context, name string) (image.Image, error) {
	const entrypoint = "/usr/local/bin/valkey-server"
	img, err := dynamic(ctx, name, map[string]string{entrypoint: valkeyServer})
	img.Entrypoint, img.User = []string{entrypoint}, "999:999"
	return img, err
}

// dynamic returns an image with programs from this host and the shared libraries that they need.
func dynamic(ctx context.Context, name string, programs map[string]string) (image.Image, error) {
	files := map[string]string{}
	for path, program := range programs {
		libraries, err := image.Libraries(ctx, program)
		if err != nil {
			return image.Image{}, err
		}
		maps.Copy(files, libraries)
		files[path] = program
	}
	return image.Image{Name: name, Files: files}, nil
}

// Names of other projects' public images as copied to the reader's own registry. The tests do not pull them, but build stand-ins from Debian's
// programs.
const (
	copiedValkey  = "registry.example/holdfast/valkey:8.1.4"
	copiedBusybox = "registry.example/holdfast/busybox:1.37"
)

// LoadStandIns builds images of a store and of a shell with the programs that examples call. It loads them into the node under the names of
// the copied images.
func LoadStandIns(ctx context.Context, node Node) error {
	store, err := storeImage(ctx, copiedValkey)
	if err != nil {
		return err
	}
	shell, err := dynamic(ctx, copiedBusybox, map[string]string{
		"/bin/sh": "/bin/dash", "/bin/sleep": "/bin/sleep", "/bin/date": "/bin/date", "/usr/bin/pkill": "/usr/bin/pkill",
	})
	if err != nil {
		return err
	}
	shell.Entrypoint = []string{"/bin/sh"}
	return load(ctx, node, store, shell)
}
