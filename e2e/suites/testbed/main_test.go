//go:build e2e

// Package testbed tests the features of the testbed that the suites rely on: services and DNS, webhooks in the cluster,
// several real nodes, simulated nodes, and Prometheus.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end, with its earlier options.
package testbed

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// The testbed and a client of its administrator. Both are set before any test runs.
var (
	cluster *testbed.Cluster
	client  kubernetes.Interface
)

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	before, err := present()
	if err != nil {
		return nil, err
	}
	options := before
	options.Nodes, options.KubeProxy = max(2, before.Nodes), true
	if cluster, err = testbed.Up(ctx, options, progress); err != nil {
		return nil, err
	}
	config, err := cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	client, err = kubernetes.NewForConfig(config)
	return func(ctx context.Context) error {
		if !suites.Kept() {
			return nil
		}
		_, err := testbed.Up(ctx, before, progress)
		return err
	}, err
}

// present returns the options of a running testbed, or zero options.
func present() (testbed.Options, error) {
	up, err := testbed.Attach()
	if errors.Is(err, testbed.ErrNotUp) {
		return testbed.Options{}, nil
	}
	if err != nil {
		return testbed.Options{}, err
	}
	return up.Options(), nil
}
