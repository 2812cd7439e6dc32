//go:build e2e && e2e_all

// Package soak lets things fail at random for minutes, every few seconds and one on top of the other, and then looks whether
// all that counts restarts agrees.
//
// HOLDFAST_SOAK is how long, ten minutes if it is not set; HOLDFAST_SOAK_SEED repeats the order of a run;
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
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
	env.OrchestratorLease = 5 * time.Second // it is killed, and the next one waits for that
	return func(context.Context) error { return env.Close() }, env.Install(ctx)
}
