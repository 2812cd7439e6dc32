//go:build e2e

// Package tests_testbed shows that the testbed has what the suites build on: services and names, webhooks in the cluster,
// several real nodes, simulated nodes, Prometheus.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end, as it was before.
package tests_testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// The testbed and its administrator's client; both are set before any test runs.
var (
	cluster *testbed.Cluster
	client  kubernetes.Interface
)

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	ctx := context.Background()
	before, err := present()
	if err != nil {
		return 1, err
	}
	options := before
	options.Nodes, options.KubeProxy = max(2, before.Nodes), true
	if cluster, err = testbed.Up(ctx, options, os.Stdout); err != nil {
		return 1, err
	}
	config, err := cluster.RESTConfig()
	if err != nil {
		return 1, err
	}
	if client, err = kubernetes.NewForConfig(config); err != nil {
		return 1, err
	}
	code := m.Run()
	if os.Getenv("HOLDFAST_KEEP_TESTBED") != "" {
		_, err := testbed.Up(ctx, before, os.Stdout)
		return code, err
	}
	return code, testbed.DownClean(ctx, os.Stdout)
}

// present returns the options of the testbed that is up, or none.
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
