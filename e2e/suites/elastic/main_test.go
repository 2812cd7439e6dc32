//go:build e2e

// Package elastic installs the elastic operator's chart on a real node. Real workers are killed, scaled and
// suspended. With the build tag e2e_all, Kueue's real manager provides the quota.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package elastic

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// Images of the binaries from `make build` in bin.
const (
	workerImage  = "localhost/holdfast/worker:dev"
	managerImage = "localhost/holdfast/elastic-manager:dev"
	kueueImage   = "localhost/holdfast/elastic-kueue:dev"
)

// The environment, a client that knows ElasticJobs, and the release. All are set before any test runs.
var (
	shared  *framework.Environment
	k8s     client.Client
	release helm.Release
)

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := framework.New(ctx, testbed.Options{}, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	end := func(context.Context) error { return env.Close() }
	if k8s, err = env.ClientFor(v1alpha1.AddToScheme); err != nil {
		return end, err
	}
	for image, program := range map[string]string{
		workerImage: "worker", managerImage: "elastic-manager", kueueImage: "elastic-kueue", framework.ExecImage: "holdfast-exec",
	} {
		if err := env.LoadProgram(ctx, image, env.File("bin", program)); err != nil {
			return end, err
		}
	}
	if err := env.DefineJobSets(ctx); err != nil {
		return end, err
	}
	if err := env.StartOrchestratorWith(ctx, "--elasticjobs"); err != nil { // before the kind exists
		return end, err
	}
	release = helm.Release{
		Name: "holdfast", Namespace: "e2e-elastic", Chart: env.File("charts", "elastic-operator"), Kubeconfig: env.Cluster.KubeconfigPath(), Adopt: true,
		Patience: 10 * time.Minute,
	}
	if err := release.Install(ctx, values(false)); err != nil {
		return end, err
	}
	return func(ctx context.Context) error {
		return errors.Join(release.Uninstall(), env.Cluster.StopProgram(ctx, framework.Orchestrator), env.Close())
	}, nil
}

// values returns values that fit a machine with two cores.
func values(kueue bool) helm.Values {
	small := helm.Values{"requests": helm.Values{"cpu": "10m", "memory": "32Mi"}, "limits": helm.Values{"memory": "512Mi"}}
	return helm.Values{
		"image": helm.Image(managerImage), "resources": small, "rendezvous": helm.Values{"enabled": false},
		"inPlace": helm.Values{
			"enabled": true, "execImage": helm.Image(framework.ExecImage), "storeAddress": shared.Cluster.RedisAddress(), "storeAuth": false, "storeTLS": false,
		},
		"kueue": helm.Values{"enabled": kueue, "image": helm.Image(kueueImage), "resources": small},
	}
}
