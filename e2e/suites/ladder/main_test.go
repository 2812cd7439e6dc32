//go:build e2e && e2e_all

// Package ladder runs all programs that take part in recovery, and AppWrappers under Kueue's real manager. It checks
// that every fault is handled only at its own recovery level and is counted once, and that the quota is held
// throughout.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package ladder

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

const gpu = "nvidia.com/gpu"

// The environment and a client that knows AppWrappers and ElasticJobs. Both are set before any test runs.
var (
	shared *framework.Environment
	k8s    client.Client
)

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := framework.New(ctx, testbed.Options{Nodes: 2, KubeletRestartPeriod: suites.RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	env.OrchestratorLease = 5 * time.Second // the orchestrator is killed, and the next one waits until the lease expires
	end := func(context.Context) error { return env.Close() }
	for _, step := range []func(context.Context) error{
		env.Install, env.DefineAppWrappers, env.DefineElasticJobs, connect, giveGPUs,
		env.StartAppWrappers, func(ctx context.Context) error { return env.StartElasticJobs(ctx) }, startRescheduler,
		func(ctx context.Context) error {
			return env.Cluster.Kueue(ctx, progress, "workload.codeflare.dev/appwrapper")
		},
	} {
		if err := step(ctx); err != nil {
			return end, err
		}
	}
	return end, nil
}

func connect(context.Context) (err error) {
	k8s, err = shared.ClientFor(v1beta2.AddToScheme, v1alpha1.AddToScheme)
	return err
}

// giveGPUs makes the nodes advertise GPUs that they do not have, because the health checks are about GPUs.
func giveGPUs(ctx context.Context) error { return offerGPUs(ctx, 8) }

// offerGPUs sets the number of GPUs of each node. Running pods are not affected.
func offerGPUs(ctx context.Context, n int64) error {
	for _, name := range shared.Cluster.NodeNames() {
		node := &corev1.Node{}
		if err := k8s.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return err
		}
		before := node.DeepCopy()
		node.Status.Capacity[gpu], node.Status.Allocatable[gpu] = *resource.NewQuantity(n, resource.DecimalSI), *resource.NewQuantity(n, resource.DecimalSI)
		if err := k8s.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("giving node %s GPUs: %w", name, err)
		}
	}
	return nil
}

func startRescheduler(ctx context.Context) error {
	taints := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"patch"}} // for blame.taint
	if err := shared.Allow(ctx, "rescheduler", "rescheduler-taints", taints); err != nil {
		return err
	}
	return shared.StartRescheduler(ctx, shared.File("e2e", "suites", "ladder", "rescheduler.yaml"))
}
