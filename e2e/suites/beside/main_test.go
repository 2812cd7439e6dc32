//go:build e2e

// Package beside runs the published JobSet controller, Kubeflow Trainer and the LeaderWorkerSet controller on a real node,
// with the chart holdfast-inplace alongside. It makes processes, pods and the orchestrator fail.
//
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package beside

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const (
	publishedProgram = "published-jobset"
	publishedPort    = 9847
	publishedHealth  = "127.0.0.1:18847"

	namespace = "e2e-beside" // of the release
	jobs      = "e2e-beside-jobs"
)

var shared *framework.Environment

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := suites.StartForCharts(ctx, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	if err := startManagers(ctx, l); err != nil {
		return nil, err
	}
	if err := l.Namespace(ctx, jobs); err != nil {
		return nil, err
	}
	return func(context.Context) error { return l.Close() }, release().Install(ctx, values())
}

// startManagers runs the other projects' managers on this host, with their webhooks.
func startManagers(ctx context.Context, l *framework.Environment) error {
	if err := startPublished(ctx, l); err != nil {
		return err
	}
	if err := l.StartTrainer(ctx); err != nil {
		return err
	}
	return l.StartLeaderWorkerSets(ctx)
}

// startPublished applies the published CRD of JobSets, and runs the published manager on this host.
func startPublished(ctx context.Context, l *framework.Environment) error {
	published, err := l.PublishedManager(ctx, framework.PublishedAddresses{WebhookPort: publishedPort, Metrics: "0", Health: publishedHealth})
	if err != nil {
		return err
	}
	definition := filepath.Join(filepath.Dir(published.Webhooks), "..", "crd", "bases", "jobset.x-k8s.io_jobsets.yaml")
	if err := l.Apply(ctx, "", definition); err != nil {
		return err
	}
	if err := l.Cluster.StartProgram(ctx, testbed.Program{Name: publishedProgram, Command: published.Command, Ready: framework.Healthy(publishedHealth)}); err != nil {
		return err
	}
	return l.ApplyWebhooks(ctx, published.Webhooks, publishedPort)
}

func release() helm.Release {
	return helm.Release{
		Name: "holdfast-inplace", Namespace: namespace, Chart: shared.File("charts", "holdfast-inplace"), Kubeconfig: shared.Cluster.KubeconfigPath(),
	}
}

// values returns values that fit a machine with two cores.
func values() helm.Values {
	return helm.Values{
		"image": helm.ImageValues()["orchestrator"].(helm.Values)["image"], "resources": small(), "nodeSelector": pool(), "valkey": store(),
		"leaderElection": helm.Values{"leaseDuration": "5s"}, "injection": agents(),
	}
}

func small() helm.Values {
	return helm.Values{"requests": helm.Values{"cpu": "10m", "memory": "32Mi"}, "limits": helm.Values{"memory": "512Mi"}}
}

// pool selects the node that has the images.
func pool() helm.Values { return helm.Values{framework.NodePool: "pool-1"} }

func store() helm.Values {
	valkey := helm.ImageValues()["valkey"].(helm.Values)
	maps.Copy(valkey, helm.Values{"resources": small(), "nodeSelector": pool(), "agents": 100})
	return valkey
}

func agents() helm.Values {
	return helm.Values{"execImage": helm.Image(framework.ExecImage), "agentImage": helm.Image(framework.AgentImage)}
}
