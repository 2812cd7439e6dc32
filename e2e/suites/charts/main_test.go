//go:build e2e

// Package charts installs, upgrades and uninstalls each chart on its own, and then all four together, over the objects
// that they have kept. Each chart's program handles a sample object throughout.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package charts

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
)

var shared *framework.Environment

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := suites.StartForCharts(ctx, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	end := func(context.Context) error { return env.Close() }
	if !env.TakesScheduler() {
		withoutScheduler()
	}
	for image, program := range images {
		if err := env.LoadProgram(ctx, image, env.File("bin", program)); err != nil {
			return end, err
		}
	}
	simulation, err := env.Cluster.Simulate(ctx, kubelet.Options{Name: "other", Nodes: 1})
	if err != nil {
		return end, err
	}
	return func(context.Context) error { simulation.Close(); return env.Close() }, nil
}
