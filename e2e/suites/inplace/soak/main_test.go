//go:build e2e && e2e_all

// Package soak causes random failures every few seconds for several minutes, even while earlier ones are being handled.
// Then it checks that all counts of restarts agree.
//
// HOLDFAST_SOAK is the duration, five minutes by default. HOLDFAST_SOAK_SEED repeats the sequence of a run.
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package soak

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

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
	env.OrchestratorLease = 5 * time.Second // the orchestrator is killed, and the next one waits until the lease expires
	return func(context.Context) error { return env.Close() }, env.Install(ctx)
}
