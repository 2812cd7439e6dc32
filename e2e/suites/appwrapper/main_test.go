//go:build e2e

// Package appwrapper runs the AppWrapper controller on a real node, with real Jobs, pods and failures. With the build
// tag e2e_all, Kueue's real manager provides the quota.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package appwrapper

import (
	"context"
	"io"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const image = "localhost/holdfast/worker:dev"

// The environment and a client that knows AppWrappers. Both are set before any test runs.
var (
	shared *framework.Environment
	k8s    client.Client
)

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := framework.New(ctx, testbed.Options{Nodes: 2}, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	end := func(context.Context) error { return env.Close() }
	if k8s, err = env.ClientFor(v1beta2.AddToScheme); err != nil {
		return end, err
	}
	if err := env.LoadProgram(ctx, image, env.File("bin", "worker")); err != nil {
		return end, err
	}
	if err := env.DefineAppWrappers(ctx); err != nil {
		return end, err
	}
	return end, env.StartAppWrappers(ctx)
}

// podsOf returns the pods of an AppWrapper.
func podsOf(ctx context.Context, ns, name string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := k8s.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{v1beta2.AppWrapperLabel: name})
	return list.Items, err
}
