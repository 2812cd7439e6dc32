//go:build e2e

// Package tests_charts_all takes each chart through its life, alone: installed, upgraded, uninstalled; then all four together, over what they
// have left. What each has made itself works on a sample object of its kind throughout.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests_charts_all

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/simulated"
	"github.com/holdfast-project/holdfast/e2e/suite"
)

var shared *lab.Lab

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := suite.ChartLab(ctx, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	end := func(context.Context) error { return l.Close() }
	if !l.TakesScheduler() {
		withoutScheduler()
	}
	for image, program := range images {
		if err := l.LoadProgram(ctx, image, l.File("bin", program)); err != nil {
			return end, err
		}
	}
	fleet, err := l.Cluster.Simulate(ctx, simulated.Options{Name: "other", Nodes: 1})
	if err != nil {
		return end, err
	}
	return func(context.Context) error { fleet.Close(); return l.Close() }, nil
}
