//go:build e2e

// Package inplace runs Holdfast's programs on a real node, with real pods, a real store and real failures.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package inplace

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

var shared *framework.Environment

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := framework.New(ctx, testbed.Options{KubeletRestartPeriod: suites.RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	return func(context.Context) error { return env.Close() }, env.Install(ctx)
}
