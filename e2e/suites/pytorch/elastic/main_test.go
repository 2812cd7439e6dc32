//go:build e2e

// Package elastic trains a real network with real PyTorch in ElasticJobs on a real node, and causes failures and
// changes during the training.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package elastic

import (
	"context"
	"io"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/torch"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// The environment and a client that knows ElasticJobs. Both are set before any test runs.
var (
	shared *framework.Environment
	k8s    client.Client
)

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := framework.New(ctx, testbed.Options{KubeletRestartPeriod: suites.RestartPeriod, KubeProxy: true}, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	end := func(context.Context) error { return env.Close() }
	if k8s, err = env.ClientFor(v1alpha1.AddToScheme); err != nil {
		return end, err
	}
	if err := torch.LoadImages(ctx, env.Cluster, env.File("bin", "rendezvous")); err != nil {
		return end, err
	}
	if err := env.DefineElasticJobs(ctx); err != nil {
		return end, err
	}
	return end, env.StartElasticJobs(ctx, "--rendezvous-image="+torch.RendezvousImage)
}
