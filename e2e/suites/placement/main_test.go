//go:build e2e && e2e_all

// Package placement runs the JobSet manager with its webhooks against the real scheduler and Kueue's real manager, to
// test exclusive placement and queues. Nodes and pods are simulated.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package placement

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// Both are set before any test runs.
var (
	shared     *framework.Environment
	simulation *kubelet.Nodes
)

// Node pools represent racks.
const (
	pools     = 4
	poolNodes = 2
)

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	var err error
	if shared, err = framework.New(ctx, testbed.Options{}, progress); err != nil {
		return nil, err
	}
	if err := shared.DefineJobSets(ctx); err != nil {
		return nil, err
	}
	if err := shared.StartServingManager(ctx); err != nil {
		return nil, err
	}
	if err := shared.Cluster.Kueue(ctx, progress); err != nil {
		return nil, err
	}
	simulation, err = shared.Cluster.Simulate(ctx, kubelet.Options{Name: "racks", Nodes: pools * poolNodes, Pools: pools, Rules: &kubelet.Rules{}})
	return end, err
}

func end(ctx context.Context) error {
	return errors.Join(
		simulation.Remove(ctx), shared.Cluster.StopKueue(ctx), shared.StopServingManager(ctx), shared.Close(),
	)
}
