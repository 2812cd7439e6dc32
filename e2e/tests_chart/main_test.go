//go:build e2e

// Package tests installs the chart of the JobSet controller on a real node, with helm, and uses what it installed.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/e2e/helm"
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
	l, err := lab.New(ctx, testbed.Options{KubeletRestartPeriod: time.Second}, os.Stdout)
	if err != nil {
		return 1, err
	}
	if err := prepare(ctx, l); err != nil {
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

// prepare gives the node all images, and ends programs of the host that would work on the same JobSets.
func prepare(ctx context.Context, l *lab.Lab) error {
	for _, program := range []string{lab.Manager, lab.Orchestrator} {
		if err := l.Cluster.StopProgram(ctx, program); err != nil {
			return err
		}
	}
	if err := l.LoadImages(ctx); err != nil {
		return err
	}
	if err := helm.LoadImages(ctx, l.Cluster, l.File("bin")); err != nil {
		return err
	}
	return l.LabelNode(ctx)
}
