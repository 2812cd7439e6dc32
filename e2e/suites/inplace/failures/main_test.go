//go:build e2e && e2e_all

// Package failures makes every part of the system fail: workers, their pods, agents, orchestrators and the store, one
// at a time, at rest and in the middle of a restart. The programs are installed by the chart, with two replicas.
//
// HOLDFAST_DRIVER=cri (or exec) runs the cases with that driver only. HOLDFAST_KEEP_TESTBED=1 keeps the cluster running
// at the end.
package failures

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
	"github.com/holdfast-project/holdfast/e2e/suites"
)

const (
	releaseName = "holdfast"
	namespace   = "e2e-failures" // of the release
)

var (
	shared  *framework.Environment
	release helm.Release
)

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := suites.StartForCharts(ctx, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	release = helm.Release{
		Name: releaseName, Namespace: namespace, Chart: env.File("charts", "jobset-controller"),
		Kubeconfig: env.Cluster.KubeconfigPath(), Adopt: true, Patience: 5 * time.Minute,
	}
	if err := release.Uninstall(); err != nil { // of a testbed that was kept
		return nil, err
	}
	return func(context.Context) error { return env.Close() }, release.Install(ctx, values(env.Cluster.RedisAddress()))
}

// values returns values for two managers, each with an orchestrator, that use the testbed's store, which tests can
// kill.
func values(store string) helm.Values {
	v := helm.ImageValues()
	small := helm.Values{"requests": helm.Values{"cpu": "10m", "memory": "32Mi"}, "limits": helm.Values{"memory": "512Mi"}}
	v["replicaCount"], v["resources"], v["nodeSelector"] = 2, small, helm.Values{framework.NodePool: "pool-1"}
	v["valkey"] = helm.Values{"address": store}
	v["injection"] = helm.Values{"execImage": helm.Image(framework.ExecImage), "agentImage": helm.Image(framework.AgentImage)}
	orchestrator := v["orchestrator"].(helm.Values)
	orchestrator["enabled"], orchestrator["resources"], orchestrator["leaseDuration"] = true, small, "5s"
	return v
}
