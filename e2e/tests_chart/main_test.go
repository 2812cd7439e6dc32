//go:build e2e

// Package tests installs the chart of the JobSet controller on a real node, with helm, and uses what it installed.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/lab"
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
	return func(context.Context) error { return l.Close() }, nil
}
