package suite

import (
	"context"
	"io"
	"time"

	"github.com/holdfast-project/holdfast/e2e/helm"
	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// RestartPeriod keeps the kubelet's back-off out of the way of a second restart within ten minutes.
const RestartPeriod = time.Second

// ChartLab is a testbed with the images of the charts, on which nothing else works on JobSets.
func ChartLab(ctx context.Context, progress io.Writer) (*lab.Lab, error) {
	l, err := lab.New(ctx, testbed.Options{KubeletRestartPeriod: RestartPeriod}, progress)
	if err != nil {
		return nil, err
	}
	for _, program := range []string{lab.Manager, lab.Orchestrator} {
		if err := l.Cluster.StopProgram(ctx, program); err != nil {
			return nil, err
		}
	}
	if err := l.LoadImages(ctx); err != nil {
		return nil, err
	}
	if err := helm.LoadImages(ctx, l.Cluster, l.File("bin")); err != nil {
		return nil, err
	}
	return l, l.LabelNode(ctx)
}
