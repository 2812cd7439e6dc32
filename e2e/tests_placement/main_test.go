//go:build e2e && e2e_all

// Package tests_placement runs the JobSet manager with its webhooks against the real scheduler and Kueue's real manager: exclusive
// placement, and queues. Nodes and pods are simulated.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests_placement

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/simulated"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// Set before any test runs.
var (
	shared *lab.Lab
	fleet  *simulated.Fleet
)

// pools of nodes are the racks here.
const (
	pools     = 4
	poolNodes = 2
)

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	var err error
	if shared, err = lab.New(ctx, testbed.Options{}, progress); err != nil {
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
	fleet, err = shared.Cluster.Simulate(ctx, simulated.Options{Name: "racks", Nodes: pools * poolNodes, Pools: pools, Rules: &simulated.Rules{}})
	return end, err
}

func end(ctx context.Context) error {
	return errors.Join(
		fleet.Remove(ctx), shared.Cluster.StopKueue(ctx), shared.StopServingManager(ctx), shared.Close(),
	)
}
