//go:build e2e

// Package metrics runs the real Prometheus against all of Holdfast's programs while they handle failures, and runs all
// queries of the charts' dashboards. It draws the reliability dashboard of the run.
//
// HOLDFAST_PICTURE=file.svg writes the picture. HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package metrics

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// The environment and a client that knows AppWrappers. Both are set before any test runs.
var (
	shared *framework.Environment
	k8s    client.Client
)

// simulation is the prefix of simulated nodes' names.
const simulation = "other"

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := framework.New(ctx, testbed.Options{KubeletRestartPeriod: suites.RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	end := func(context.Context) error { return env.Close() }
	others, err := env.Cluster.Simulate(ctx, kubelet.Options{Name: simulation, Nodes: 1})
	if err != nil {
		return end, err
	}
	end = func(context.Context) error { others.Close(); return env.Close() }
	for _, step := range []func(context.Context) error{
		env.LoadImages, env.DefineJobSets, env.LabelNode, env.DefineAppWrappers, env.DefineElasticJobs, connect,
		func(ctx context.Context) error {
			return env.Cluster.Kueue(ctx, progress, "workload.codeflare.dev/appwrapper")
		},
		startPrograms,
	} {
		if err := step(ctx); err != nil {
			return end, err
		}
	}
	return end, nil
}

func connect(context.Context) (err error) {
	k8s, err = shared.ClientFor(v1beta2.AddToScheme, v1alpha1.AddToScheme)
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
