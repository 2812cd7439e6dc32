//go:build e2e

// Package tests_elastic installs the chart of the elastic operator on a real node and lets it keep workers going: real pods, killed, scaled,
// suspended. With e2e_all Kueue's real manager gives the quota.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests_elastic

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/helm"
	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// Images of the programs that `make build` left in bin.
const (
	workerImage  = "localhost/holdfast/worker:dev"
	managerImage = "localhost/holdfast/elastic-manager:dev"
	kueueImage   = "localhost/holdfast/elastic-kueue:dev"
)

// The lab, a client that knows ElasticJobs, and the release; all are set before any test runs.
var (
	shared  *lab.Lab
	k8s     client.Client
	release helm.Release
)

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := lab.New(ctx, testbed.Options{}, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	end := func(context.Context) error { return l.Close() }
	if k8s, err = l.ClientFor(v1alpha1.AddToScheme); err != nil {
		return end, err
	}
	for image, program := range map[string]string{
		workerImage: "worker", managerImage: "elastic-manager", kueueImage: "elastic-kueue", lab.ExecImage: "holdfast-exec",
	} {
		if err := l.LoadProgram(ctx, image, l.File("bin", program)); err != nil {
			return end, err
		}
	}
	if err := l.DefineJobSets(ctx); err != nil {
		return end, err
	}
	if err := l.StartOrchestratorWith(ctx, "--elasticjobs"); err != nil { // before there is any such kind
		return end, err
	}
	release = helm.Release{
		Name: "holdfast", Namespace: "e2e-elastic", Chart: l.File("charts", "elastic-operator"), Kubeconfig: l.Cluster.KubeconfigPath(), Adopt: true,
		Patience: 10 * time.Minute,
	}
	if err := release.Install(ctx, values(false)); err != nil {
		return end, err
	}
	return func(ctx context.Context) error {
		return errors.Join(release.Uninstall(), l.Cluster.StopProgram(ctx, lab.Orchestrator), l.Close())
	}, nil
}

// values are small enough for a machine of two cores.
func values(kueue bool) helm.Values {
	small := helm.Values{"requests": helm.Values{"cpu": "10m", "memory": "32Mi"}, "limits": helm.Values{"memory": "512Mi"}}
	return helm.Values{
		"image": helm.Image(managerImage), "resources": small, "rendezvous": helm.Values{"enabled": false},
		"inPlace": helm.Values{
			"enabled": true, "execImage": helm.Image(lab.ExecImage), "storeAddress": shared.Cluster.RedisAddress(), "storeAuth": false, "storeTLS": false,
		},
		"kueue": helm.Values{"enabled": kueue, "image": helm.Image(kueueImage), "resources": small},
	}
}
