//go:build e2e && e2e_all

// Package nodes loses a node with workers on it, on a testbed of two real nodes: one whose power goes, and one that is only cut off.
//
// Kubernetes calls a node silent after 20 s here, and not after 50 s; all else is as users have it. HOLDFAST_KEEP_TESTBED=1
// leaves the cluster up at the end.
package nodes

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// options: a kubelet renews its Lease every ten seconds.
var options = testbed.Options{
	Nodes: 2, KubeletRestartPeriod: suites.RestartPeriod,
	Args: map[string][]string{"kube-controller-manager": {"--node-monitor-grace-period=20s"}},
}

var shared *framework.Environment

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := framework.New(ctx, options, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	return func(context.Context) error { return env.Close() }, env.Install(ctx)
}
