//go:build e2e

// Package tests_torch trains a real network with real PyTorch on ElasticJobs of a real node, and lets happen to it what happens to trainings.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests_torch

import (
	"context"
	"io"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/torch"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

const (
	manager = "elastic-manager"
	health  = "127.0.0.1:18085"
)

// The lab and a client that knows ElasticJobs; both are set before any test runs.
var (
	shared *lab.Lab
	k8s    client.Client
)

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := lab.New(ctx, testbed.Options{KubeletRestartPeriod: suite.RestartPeriod, KubeProxy: true}, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	end := func(context.Context) error { return l.Close() }
	if k8s, err = l.ClientFor(v1alpha1.AddToScheme); err != nil {
		return end, err
	}
	if err := torch.LoadImages(ctx, l.Cluster, l.File("bin", "rendezvous")); err != nil {
		return end, err
	}
	if err := l.Apply(ctx, "", l.File("elastic-operator", "config", "crd", "bases", "elastic.pytorch.org_elasticjobs.yaml")); err != nil {
		return end, err
	}
	if err := lab.Until(ctx, "the API server serves ElasticJobs", func(ctx context.Context) error {
		return k8s.List(ctx, &v1alpha1.ElasticJobList{}, client.Limit(1))
	}); err != nil {
		return end, err
	}
	kubeconfig, err := l.Account(ctx, "elastic-operator", "elastic-operator")
	if err != nil {
		return end, err
	}
	return end, l.Cluster.StartProgram(ctx, testbed.Program{
		Name: manager,
		Command: []string{
			l.File("bin", manager), "--kubeconfig=" + kubeconfig, "--rendezvous-image=" + torch.RendezvousImage,
			"--metrics-bind-address=0", "--health-probe-bind-address=" + health,
		},
		Ready: lab.Healthy(health),
	})
}
