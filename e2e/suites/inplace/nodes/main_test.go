//go:build e2e && e2e_all

// Package nodes loses a node with workers, on a testbed of two real nodes. In one case the node loses power, in the
// other it is only unreachable.
//
// Here Kubernetes marks a node as unreachable after 20 s instead of 50 s. All other settings have their
// defaults. HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
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

// options shorten the grace period for nodes. It must exceed ten seconds, which is the interval at which a kubelet
// renews its Lease.
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
