package torch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/e2e/testbed/image"
)

// Images built by LoadImages.
const (
	Image           = "localhost/holdfast/torch:dev"
	EtcdImage       = "localhost/holdfast/etcd:dev"
	RendezvousImage = "localhost/holdfast/rendezvous:dev"
)

// etcd is Debian's etcd 3.4, the second-to-last release line with the v2 API.
const etcd = "/usr/bin/etcd"

// shell is a shell that needs only the C library, which pods mount together with torch.
const shell = "/usr/bin/dash"

// ImageVariable is the environment variable that names an image with PyTorch on the node. If it is set, pods of
// examples use the image instead of this host's PyTorch.
const ImageVariable = "HOLDFAST_TORCH_IMAGE"

// Node is a node that loads image archives.
type Node interface {
	LoadImage(ctx context.Context, archive string) error
}

// LoadImage loads an image for workers into a node. The image does not contain torch, which takes up 650 MB. Pods mount
// it from the host. See Volumes.
func LoadImage(ctx context.Context, node Node) error {
	return load(ctx, node, func(dir string) (image.Image, error) {
		train := filepath.Join(dir, "train.py")
		return image.Image{Name: Image, Files: map[string]string{"/train.py": train, "/bin/sh": shell}}, os.WriteFile(train, []byte(Train), 0o644)
	})
}

// LoadImages loads LoadImage's image, an image of the built rendezvous server and an image of etcd into a node.
func LoadImages(ctx context.Context, node Node, rendezvous string) error {
	if err := LoadImage(ctx, node); err != nil {
		return err
	}
	err := load(ctx, node, func(string) (image.Image, error) {
		libraries, err := image.Libraries(ctx, etcd)
		if err == nil {
			libraries[etcd] = etcd
		}
		return image.Image{Name: EtcdImage, Files: libraries, Entrypoint: []string{etcd}}, err
	})
	if err != nil {
		return err
	}
	return load(ctx, node, func(string) (image.Image, error) {
		return image.Image{Name: RendezvousImage, Files: map[string]string{"/rendezvous": rendezvous}, Entrypoint: []string{"/rendezvous"}, User: "65532:65532"}, nil
	})
}

// load calls make with a temporary directory, and loads the returned image into a node.
func load(ctx context.Context, node Node, make func(dir string) (image.Image, error)) error {
	dir, err := os.MkdirTemp("", "holdfast-torch-")
	if err != nil {
		return fmt.Errorf("building images: %w", err)
	}
	defer os.RemoveAll(dir)
	img, err := make(dir)
	if err != nil {
		return fmt.Errorf("building images: %w", err)
	}
	archive := filepath.Join(dir, "image.tar")
	if err := img.Write(archive); err != nil {
		return err
	}
	return node.LoadImage(ctx, archive)
}

// Command returns the command for a worker's container: torchrun, which reads all settings from its environment.
func Command() []string {
	return []string{
		python, "-m", "torch.distributed.run", "--nproc_per_node=1", "--monitor_interval=1", "-r", "2", "-t", "2", "--log_dir=/tmp/logs", "/train.py",
	}
}

// Volumes returns the volumes of a worker: the programs and libraries of this version, read-only, and the directory of
// the training's state.
func (v Version) Volumes(state string) (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	volumes, mounts = v.programs()
	volumes = append(volumes, hostPath("state", state))
	return volumes, append(mounts, corev1.VolumeMount{Name: "state", MountPath: "/state"})
}

func (v Version) programs() (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	for i, p := range []struct{ host, pod string }{
		{v.Root + "/usr", "/usr"}, {v.Root + "/usr/lib", "/lib"}, {v.Root + "/usr/lib64", "/lib64"}, {v.Root + "/etc/alternatives", "/etc/alternatives"},
	} {
		name := fmt.Sprintf("host-%d", i)
		volumes = append(volumes, hostPath(name, p.host))
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: p.pod, ReadOnly: true})
	}
	return volumes, mounts
}

func hostPath(name, path string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: filepath.Clean(path)}}}
}

// Substitute replaces the image in an example's pod with the image named by ImageVariable. If the variable is not set,
// it uses Image, with this version of PyTorch from the host.
func (v Version) Substitute(pod *corev1.PodSpec) {
	c := &pod.Containers[0]
	if c.Image = os.Getenv(ImageVariable); c.Image != "" {
		return
	}
	c.Image = Image
	volumes, mounts := v.programs()
	pod.Volumes, c.VolumeMounts = append(pod.Volumes, volumes...), append(c.VolumeMounts, mounts...)
	c.Env = append(c.Env, v.Variables()...)
	c.Env = append(c.Env, corev1.EnvVar{Name: "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", Value: "1"}) // the shared store needs libuv and ignores USE_LIBUV
}

// Variables returns the variables of Env as API objects.
func (v Version) Variables() (variables []corev1.EnvVar) {
	for _, variable := range v.Env() {
		name, value, _ := strings.Cut(variable, "=")
		variables = append(variables, corev1.EnvVar{Name: name, Value: value})
	}
	return variables
}
