//go:build e2e && e2e_all

// Package tests loses a node with workers on it, on a testbed of two real nodes: one whose power goes, and one that is only cut off.
//
// Kubernetes calls a node silent after 20 s here, and not after 50 s; all else is as users have it. HOLDFAST_KEEP_TESTBED=1
// leaves the cluster up at the end.
package tests

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// options: a kubelet renews its Lease every ten seconds.
var options = testbed.Options{
	Nodes: 2, KubeletRestartPeriod: suite.RestartPeriod,
	Args: map[string][]string{"kube-controller-manager": {"--node-monitor-grace-period=20s"}},
}

var shared *lab.Lab

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := lab.New(ctx, options, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	return func(context.Context) error { return l.Close() }, l.Install(ctx)
}
