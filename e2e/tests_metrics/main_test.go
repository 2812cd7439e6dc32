//go:build e2e

// Package tests_metrics has the real Prometheus scrape all of Holdfast's programs while they answer failures, and asks it whatever the
// boards of the charts ask. It draws the reliability board of the run.
//
// HOLDFAST_PICTURE=file.svg writes the picture; HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests_metrics

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/simulated"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// The lab and a client that knows AppWrappers; both are set before any test runs.
var (
	shared *lab.Lab
	k8s    client.Client
)

// fleet begins the names of simulated nodes.
const fleet = "other"

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := lab.New(ctx, testbed.Options{KubeletRestartPeriod: suite.RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	end := func(context.Context) error { return l.Close() }
	others, err := l.Cluster.Simulate(ctx, simulated.Options{Name: fleet, Nodes: 1})
	if err != nil {
		return end, err
	}
	end = func(context.Context) error { others.Close(); return l.Close() }
	for _, step := range []func(context.Context) error{
		l.LoadImages, l.DefineJobSets, l.LabelNode, l.DefineAppWrappers, l.DefineElasticJobs, connect,
		func(ctx context.Context) error {
			return l.Cluster.Kueue(ctx, progress, "workload.codeflare.dev/appwrapper")
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
