//go:build e2e

// Package tests_rescheduler runs the rescheduler and the scheduler with the plugin, installed by their chart, on a real node that cannot
// run pods and simulated nodes that can.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests_rescheduler

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/helm"
	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/simulated"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Images that the chart and the tests use.
const (
	workerImage    = "localhost/holdfast/worker:dev"
	managerImage   = "localhost/holdfast/rescheduler-manager:dev"
	schedulerImage = "localhost/holdfast/rescheduler-scheduler:dev"
)

// The lab and a client that knows all kinds; both are set before any test runs.
var (
	shared *lab.Lab
	k8s    client.Client
)

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := lab.New(ctx, testbed.Options{KubeletRestartPeriod: suite.RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	end := func(context.Context) error { return l.Close() }
	if k8s, err = l.ClientFor(v1alpha2.AddToScheme); err != nil {
		return end, err
	}
	for image, program := range map[string]string{
		workerImage: "worker", managerImage: "rescheduler-manager", schedulerImage: "rescheduler-scheduler",
	} {
		if err := l.LoadProgram(ctx, image, l.File("bin", program)); err != nil {
			return end, err
		}
	}
	if err := l.Install(ctx); err != nil { // JobSets
		return end, err
	}
	fleet, err := l.Cluster.Simulate(ctx, simulated.Options{Name: "other", Nodes: 2})
	if err != nil {
		return end, err
	}
	end = func(context.Context) error { fleet.Close(); return l.Close() }
	return end, install(ctx)
}

// install the chart. On a machine that stalls a pod waits for the webhook's answer, rather than that it goes without, and no
// exclusion is lifted because the scheduler was late.
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
