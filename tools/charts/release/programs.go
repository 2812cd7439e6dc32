package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is a program of the release.
type program struct {
	// name is the image name, or the file name in an archive.
	name string
	// module is the module's directory, and main is the package within it.
	module, main string
	// user is the image's numeric user ID. A pod's runAsNonRoot does not accept names.
	user string
	// alone means that the module is not in the workspace.
	alone bool
}

const (
	root   = "0:0"
	nobody = "65532:65532"
)

// images lists the programs that run in clusters.
var images = []program{
	{name: "jobset-manager", module: "jobset-controller", main: "./cmd/manager", user: nobody},
	{name: "jobset-orchestrator", module: "jobset-controller", main: "./cmd/orchestrator", user: nobody},
	{name: "holdfast-exec", module: "agent", main: "./cmd/holdfast-exec", user: nobody},
	// The sidecar uses the container runtime's socket. The documented manifest does not set a user and relies on the one
	// in the image.
	{name: "agent", module: "agent", main: "./cmd/agent", user: root},
	{name: "appwrapper-manager", module: "appwrapper-controller", main: "./cmd/manager", user: nobody},
	{name: "elastic-manager", module: "elastic-operator", main: "./cmd/manager", user: nobody},
	{name: "elastic-rendezvous", module: "elastic-operator", main: "./cmd/rendezvous", user: nobody},
	{name: "elastic-kueue", module: "elastic-operator/kueue", main: "./cmd/manager", user: nobody, alone: true},
	{name: "rescheduler-manager", module: "rescheduler", main: "./cmd/manager", user: nobody},
	{name: "rescheduler-scheduler", module: "rescheduler/scheduler", main: "./cmd/scheduler", user: nobody},
}

// plugin is the program that users run.
var plugin = program{name: "kubectl-holdfast", module: "cli", main: "./cmd/kubectl-holdfast"}

// program builds a static Linux program for an architecture, writes its SBOM and returns the binary.
func (r *release) program(ctx context.Context, p program, arch string) ([]byte, error) {
	fmt.Printf("building %s for %s\n", p.name, arch)
	folder, err := os.MkdirTemp("", "holdfast-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, p.name)
	flags, err := r.linkerFlags(ctx, p)
	if err != nil {
		return nil, err
	}
	environment := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch, "GOFLAGS="}
	if p.alone {
		environment = append(environment, "GOWORK=off")
	}
	if _, err := run(ctx, filepath.Join(r.root, p.module), environment,
		"go", "build", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace", "-ldflags", flags, "-o", file, p.main); err != nil {
		return nil, fmt.Errorf("building %s for %s: %w", p.name, arch, err)
	}
	if err := r.sbom(ctx, file, fmt.Sprintf("%s_linux_%s.cdx.json", p.name, arch)); err != nil {
		return nil, fmt.Errorf("writing the SBOM of %s for %s: %w", p.name, arch, err)
	}
	return os.ReadFile(file)
}

// linkerFlags returns the linker flags that set the version. A scheduler also needs its Kubernetes version, on which
// feature gates depend.
func (r *release) linkerFlags(ctx context.Context, p program) (string, error) {
	const stamp, component = "github.com/holdfast-project/holdfast/shared/version", "k8s.io/component-base/version"
	flags := fmt.Sprintf("-s -w -X %s.version=%s -X %s.commit=%s", stamp, r.version, stamp, r.commit)
	if p.name != "rescheduler-scheduler" {
		return flags, nil
	}
	kubernetes, err := run(ctx, filepath.Join(r.root, p.module), nil, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s -X %s.gitVersion=%s+holdfast.%s -X %s.gitCommit=%s", flags, component, kubernetes, r.version, component, r.commit), nil
}

// sbom writes an SBOM with a program's modules, based on the build information in the binary.
func (r *release) sbom(ctx context.Context, file, to string) error {
	_, err := run(ctx, filepath.Join(r.root, "charts"), []string{"GOWORK=off"}, "go", "tool", "-modfile=../tools/sbom/go.mod", "cyclonedx-gomod",
		"bin", "-json", "-std", "-noserial", "-notimestamp", "-version", r.version, "-output", filepath.Join(r.output, to), file)
	return err
}

// run runs a command in a directory and returns its output.
func run(ctx context.Context, folder string, environment []string, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("running %s: %w\n%s", command, err, problems.String())
	}
	return strings.TrimSpace(string(out)), nil
}
