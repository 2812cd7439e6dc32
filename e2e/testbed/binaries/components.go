// Package binaries builds the cluster's programs from Go modules and keeps them in a directory until their module
// changes.
package binaries

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Component is one program to build.
type Component struct {
	Name string
	// Folder is a subdirectory of the directory of binaries. The programs of several Kubernetes versions have the same
	// names.
	Folder string
	// Module is the directory of the module that pins the version, relative to the repository root.
	Module string
	// Package is the import path, or the directory within Module.
	Package string
	// Inputs lists patterns of files in Module on which the binary depends.
	Inputs  []string
	Tags    string
	LDFlags string
}

// DefaultKubernetes is the minor version that the testbed runs by default.
const DefaultKubernetes = "1.36"

// kubernetesVersions maps minor versions to the releases from which the control plane and the kubelet can be built. Each
// has its own module.
var kubernetesVersions = map[string]string{
	"1.33": "v1.33.13",
	"1.34": "v1.34.3",
	"1.35": "v1.35.4",
	"1.36": "v1.36.3",
}

// KubernetesMinors returns the minor versions that can be built, in order.
func KubernetesMinors() []string { return slices.Sorted(maps.Keys(kubernetesVersions)) }

// KubernetesFolder returns the subdirectory of the directory of binaries for a minor version. The binaries of the default
// version are at the top, where tests expect them.
func KubernetesFolder(minor string) string {
	if minor == DefaultKubernetes {
		return ""
	}
	return minor
}

func kubernetesModule(minor string) string {
	if minor == DefaultKubernetes {
		return "tools/kubernetes"
	}
	return "tools/kubernetes-" + minor
}

const (
	containerdVersion = "v2.2.1"
	kueueVersion      = "v0.19.2"
)

var pinned = []string{"go.mod", "go.sum"}

// Default returns the components that every testbed with the given Kubernetes minor version needs, slowest build first.
func Default(minor string) []Component {
	return []Component{
		kubernetes(minor, "kube-apiserver"),
		kubernetes(minor, "kube-controller-manager"),
		kubernetes(minor, "kube-scheduler"),
		kubernetes(minor, "kubelet"),
		containerd("containerd"),
		containerd("containerd-shim-runc-v2"),
		containerd("ctr"),
		{Name: "coredns", Module: "tools/coredns", Package: ".", Inputs: append(pinned, "*.go")},
		{Name: "pause", Module: "e2e", Package: "./testbed/pause", Inputs: []string{"testbed/pause/*.go"}},
	}
}

// KubeProxy returns the service proxy. It is built only on request.
func KubeProxy(minor string) Component {
	return kubernetes(minor, "kube-proxy")
}

// KueueModule is the directory of the module that pins Kueue.
const KueueModule = "tools/kueue"

// Kueue returns Kueue's manager. It is built only on request, because that takes three minutes.
func Kueue() Component {
	return Component{
		Name:    "kueue",
		Module:  KueueModule,
		Package: "sigs.k8s.io/kueue/cmd/kueue",
		Inputs:  pinned,
		LDFlags: "-X sigs.k8s.io/kueue/pkg/version.GitVersion=" + kueueVersion,
	}
}

// JobSetModule is the directory of the module that pins the upstream JobSet controller.
const JobSetModule = "tools/jobset"

// JobSetVersion is the version of the upstream JobSet controller.
const JobSetVersion = "v0.12.0"

// PublishedJobSet returns the manager of the upstream JobSet controller, which benchmarks and suites run alongside ours.
func PublishedJobSet() Component {
	return Component{
		Name:    "published-jobset",
		Module:  JobSetModule,
		Package: "sigs.k8s.io/jobset",
		Inputs:  pinned,
		LDFlags: "-X sigs.k8s.io/jobset/pkg/version.GitVersion=" + JobSetVersion,
	}
}

// PublishedJobSetAgent returns the agent of the upstream controller's restart strategy InPlaceRestart.
func PublishedJobSetAgent() Component {
	return Component{
		Name:    "published-jobset-agent",
		Module:  JobSetModule,
		Package: "sigs.k8s.io/jobset/cmd/in-place-restart-agent",
		Inputs:  pinned,
	}
}

// LeaderWorkerSetModule is the directory of the module that pins the LeaderWorkerSet controller.
const LeaderWorkerSetModule = "tools/lws"

// LeaderWorkerSetVersion is the version of the LeaderWorkerSet controller.
const LeaderWorkerSetVersion = "v0.8.0"

// LeaderWorkerSet returns the manager of the LeaderWorkerSet controller.
func LeaderWorkerSet() Component {
	return Component{
		Name:    "lws",
		Module:  LeaderWorkerSetModule,
		Package: "sigs.k8s.io/lws/cmd",
		Inputs:  pinned,
		LDFlags: "-X sigs.k8s.io/lws/pkg/version.GitVersion=" + LeaderWorkerSetVersion,
	}
}

// TrainerModule is the directory of the module that pins Kubeflow Trainer.
const TrainerModule = "tools/trainer"

// TrainerVersion is the version of Kubeflow Trainer.
const TrainerVersion = "v2.2.0"

// Trainer returns the manager of Kubeflow Trainer.
func Trainer() Component {
	return Component{
		Name:    "trainer",
		Module:  TrainerModule,
		Package: "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
		Inputs:  pinned,
	}
}

// kubernetes returns a Kubernetes program. It sets the version, because otherwise the server reports a version that
// clients cannot parse.
func kubernetes(minor, name string) Component {
	const version = "k8s.io/component-base/version"
	return Component{
		Name:    name,
		Folder:  KubernetesFolder(minor),
		Module:  kubernetesModule(minor),
		Package: "k8s.io/kubernetes/cmd/" + name,
		Inputs:  pinned,
		LDFlags: fmt.Sprintf("-X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=%[3]s -X %[1]s.gitTreeState=clean -X %[1]s.gitCommit=unknown",
			version, kubernetesVersions[minor], strings.TrimPrefix(minor, "1.")),
	}
}

// containerd returns a containerd program, without the snapshotters that need C libraries or other tools.
func containerd(name string) Component {
	return Component{
		Name:    name,
		Module:  "tools/containerd",
		Package: "github.com/containerd/containerd/v2/cmd/" + name,
		Inputs:  pinned,
		Tags:    "no_btrfs,no_devmapper,no_zfs",
		LDFlags: "-X github.com/containerd/containerd/v2/version.Version=" + containerdVersion,
	}
}
