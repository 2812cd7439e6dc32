package suites

import (
	"context"
	"io"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// RestartPeriod is the kubelet's maximum restart back-off. It is short, so that a second restart within ten minutes is
// not delayed.
const RestartPeriod = time.Second

// StartForCharts starts a testbed with the charts' images and without any JobSet controller.
func StartForCharts(ctx context.Context, progress io.Writer) (*framework.Environment, error) {
	env, err := framework.New(ctx, testbed.Options{KubeletRestartPeriod: RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	for _, program := range []string{framework.Manager, framework.Orchestrator} {
		if err := env.Cluster.StopProgram(ctx, program); err != nil {
			return nil, err
		}
	}
	if err := env.LoadImages(ctx); err != nil {
		return nil, err
	}
	if err := helm.LoadImages(ctx, env.Cluster, env.File("bin")); err != nil {
		return nil, err
	}
	return env, env.LabelNode(ctx)
}
