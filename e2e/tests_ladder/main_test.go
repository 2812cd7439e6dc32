//go:build e2e && e2e_all

// Package tests_ladder runs an AppWrapper around a JobSet under Kueue's real manager and answers every fault: each on its own rung of the
// ladder and on no other, counted once, the quota held until the last.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests_ladder

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const (
	appWrapperManager = "appwrapper-manager"
	appWrapperHealth  = "127.0.0.1:18085"
	gpu               = "nvidia.com/gpu"
)

// The lab and a client that knows AppWrappers; both are set before any test runs.
var (
	shared *lab.Lab
	k8s    client.Client
)

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := lab.New(ctx, testbed.Options{Nodes: 2, KubeletRestartPeriod: suite.RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	end := func(context.Context) error { return l.Close() }
	for _, step := range []func(context.Context) error{
		l.Install, connect, defineAppWrappers, giveGPUs, startAppWrappers,
		func(ctx context.Context) error {
			return l.Cluster.Kueue(ctx, progress, "workload.codeflare.dev/appwrapper")
		},
	} {
		if err := step(ctx); err != nil {
			return end, err
		}
	}
	return end, nil
}

func connect(context.Context) (err error) {
	k8s, err = shared.ClientFor(v1beta2.AddToScheme)
	return err
}

func defineAppWrappers(ctx context.Context) error {
	crd := shared.File("appwrapper-controller", "config", "crd", "bases", "workload.codeflare.dev_appwrappers.yaml")
	if err := shared.Apply(ctx, "", crd); err != nil {
		return err
	}
	return lab.Until(ctx, "the API server serves AppWrappers", func(ctx context.Context) error {
		return k8s.List(ctx, &v1beta2.AppWrapperList{}, client.Limit(1))
	})
}

// giveGPUs makes the nodes offer GPUs that they do not have, which is what health checks are about.
func giveGPUs(ctx context.Context) error {
	for _, name := range shared.Cluster.NodeNames() {
		node := &corev1.Node{}
		if err := k8s.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return err
		}
		before := node.DeepCopy()
		node.Status.Capacity[gpu], node.Status.Allocatable[gpu] = resource.MustParse("8"), resource.MustParse("8")
		if err := k8s.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("giving node %s GPUs: %w", name, err)
		}
	}
	return nil
}

func startAppWrappers(ctx context.Context) error {
	kubeconfig, err := shared.Account(ctx, "appwrapper-controller", "appwrapper-controller")
	if err != nil {
		return err
	}
	return shared.Cluster.StartProgram(ctx, testbed.Program{
		Name: appWrapperManager,
		Command: []string{
			shared.File("bin", appWrapperManager), "--kubeconfig=" + kubeconfig,
			"--metrics-bind-address=0", "--health-probe-bind-address=" + appWrapperHealth,
		},
		Ready: lab.Healthy(appWrapperHealth),
	})
}
