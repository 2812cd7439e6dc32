//go:build e2e

// Package docs runs the commands of the documentation, page by page, on a real node. It uses the real kubectl and helm,
// and images with the names that the charts and the quick start use.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package docs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
	"github.com/holdfast-project/holdfast/e2e/suites"
)

var (
	shared *framework.Environment
	// programs is the folder with kubectl and helm.
	programs string
)

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := suites.StartForCharts(ctx, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	end := func(context.Context) error { return env.Close() }
	if programs, err = os.MkdirTemp("", "holdfast-docs-"); err != nil {
		return end, err
	}
	end = func(context.Context) error { return errors.Join(os.RemoveAll(programs), env.Close()) }
	for name, source := range map[string]string{"kubectl": "./internal/testing/kubectl", "helm": "helm.sh/helm/v4/cmd/helm"} {
		build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", filepath.Join(programs, name), source)
		build.Dir = env.File("charts")
		if out, err := build.CombinedOutput(); err != nil {
			return end, fmt.Errorf("building %s: %w: %s", name, err, out)
		}
	}
	return end, loadImages(ctx)
}

// ours maps the names of the charts' images to binaries from `make build` in bin.
var ours = map[string]string{
	"jobset-manager": "manager", "jobset-orchestrator": "orchestrator", "holdfast-exec": "holdfast-exec", "agent": "agent",
	"appwrapper-manager": "appwrapper-manager", "elastic-manager": "elastic-manager", "elastic-rendezvous": "rendezvous",
	"rescheduler-manager": "rescheduler-manager", "rescheduler-scheduler": "rescheduler-scheduler",
}

// version is the charts' appVersion, which is the tag of their images.
const version = "v0.1.0"

// loadImages loads into the node the images that a registry would provide.
func loadImages(ctx context.Context) error {
	names := map[string]string{}
	for name, program := range ours {
		names["registry.example/holdfast/"+name] = program // the registry of the pages
	}
	for name, program := range names {
		if err := shared.LoadProgram(ctx, name+":"+version, shared.File("bin", program)); err != nil {
			return err
		}
	}
	return helm.LoadStandIns(ctx, shared.Cluster)
}
