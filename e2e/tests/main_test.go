//go:build e2e

// Package tests runs Holdfast's programs on a real node: real pods, a real store, real failures.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

var shared *lab.Lab

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
	// The 1 s ceiling keeps the kubelet's back-off out of the way of a second restart within ten minutes.
	l, err := lab.New(ctx, testbed.Options{KubeletRestartPeriod: restartPeriod}, os.Stdout)
	if err != nil {
		return 1, err
	}
	if err := l.Install(ctx); err != nil {
		return 1, err
	}
	shared = l
	code := m.Run()
	if err := l.Close(); err != nil {
		return 1, err
	}
	if os.Getenv("HOLDFAST_KEEP_TESTBED") != "" {
		return code, nil
	}
	return code, testbed.DownClean(ctx, os.Stdout)
}
