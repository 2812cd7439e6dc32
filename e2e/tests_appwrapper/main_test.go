//go:build e2e

// Package tests_appwrapper runs the AppWrapper controller on a real node: real Jobs, real pods, real failures. With e2e_all Kueue's real
// manager gives the quota.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests_appwrapper

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const (
	manager = "appwrapper-manager"
	health  = "127.0.0.1:18083"
	image   = "localhost/holdfast/worker:dev"
)

// The lab and a client that knows AppWrappers; both are set before any test runs.
var (
	shared *lab.Lab
	k8s    client.Client
)

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := lab.New(ctx, testbed.Options{Nodes: 2}, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	end := func(context.Context) error { return l.Close() }
	if k8s, err = l.ClientFor(v1beta2.AddToScheme); err != nil {
		return end, err
	}
	if err := l.LoadProgram(ctx, image, l.File("bin", "worker")); err != nil {
		return end, err
	}
	if err := l.Apply(ctx, "", l.File("appwrapper-controller", "config", "crd", "bases", "workload.codeflare.dev_appwrappers.yaml")); err != nil {
		return end, err
	}
	if err := lab.Until(ctx, "the API server serves AppWrappers", func(ctx context.Context) error {
		return k8s.List(ctx, &v1beta2.AppWrapperList{}, client.Limit(1))
	}); err != nil {
		return end, err
	}
	return end, startManager(ctx)
}

// startManager starts it with the rights that it has in a cluster.
func startManager(ctx context.Context) error {
	kubeconfig, err := shared.Account(ctx, "appwrapper-controller", "appwrapper-controller")
	if err != nil {
		return err
	}
	return shared.Cluster.StartProgram(ctx, testbed.Program{
		Name: manager,
		Command: []string{
			shared.File("bin", manager), "--kubeconfig=" + kubeconfig,
			"--metrics-bind-address=0", "--health-probe-bind-address=" + health,
		},
		Ready: func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+health+"/readyz", nil)
			if err != nil {
				return err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("it answers %s", response.Status)
			}
			return nil
		},
	})
}

// podsOf returns the pods of an AppWrapper.
func podsOf(ctx context.Context, ns, name string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := k8s.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{v1beta2.AppWrapperLabel: name})
	return list.Items, err
}
