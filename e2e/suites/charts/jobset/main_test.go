//go:build e2e

// Package jobset installs the JobSet controller's chart on a real node with helm, and uses the installation.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package jobset

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
)

var shared *framework.Environment

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := suites.StartForCharts(ctx, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	return func(context.Context) error { return env.Close() }, nil
}
