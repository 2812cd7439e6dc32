//go:build e2e

// Package rescheduler runs the rescheduler and the scheduler with the plugin, installed by their chart. A real node
// cannot run the pods, but simulated nodes can.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package rescheduler

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Images that the chart and the tests use.
const (
	workerImage    = "localhost/holdfast/worker:dev"
	managerImage   = "localhost/holdfast/rescheduler-manager:dev"
	schedulerImage = "localhost/holdfast/rescheduler-scheduler:dev"
)

// The environment and a client that knows all kinds. Both are set before any test runs.
var (
	shared *framework.Environment
	k8s    client.Client
)

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := framework.New(ctx, testbed.Options{KubeletRestartPeriod: suites.RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	end := func(context.Context) error { return env.Close() }
	if k8s, err = env.ClientFor(v1alpha2.AddToScheme); err != nil {
		return end, err
	}
	for image, program := range map[string]string{
		workerImage: "worker", managerImage: "rescheduler-manager", schedulerImage: "rescheduler-scheduler",
	} {
		if err := env.LoadProgram(ctx, image, env.File("bin", program)); err != nil {
			return end, err
		}
	}
	if err := env.Install(ctx); err != nil { // JobSets
		return end, err
	}
	simulation, err := env.Cluster.Simulate(ctx, kubelet.Options{Name: "other", Nodes: 2})
	if err != nil {
		return end, err
	}
	end = func(context.Context) error { simulation.Close(); return env.Close() }
	return end, install(ctx)
}

// install installs the chart with settings for a machine that stalls. Pods wait for the webhook instead of being
// created without it. Exclusions stay in place even if the scheduler is late.
func install(ctx context.Context) error {
	release := helm.Release{
		Name: "rescheduler", Namespace: "rescheduler-system", Chart: shared.File("charts", "rescheduler"), Kubeconfig: shared.Cluster.KubeconfigPath(),
		Patience: 10 * time.Minute,
	}
	return release.Install(ctx, helm.Values{
		"image":     helm.Image(managerImage),
		"scheduler": helm.Values{"enabled": shared.TakesScheduler(), "image": helm.Image(schedulerImage)},
		"webhook":   helm.Values{"timeoutSeconds": 30},
		"config":    helm.Values{"rescheduling": helm.Values{"relaxAfter": "2m"}},
	})
}
