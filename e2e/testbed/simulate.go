package testbed

import (
	"context"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
)

// Simulate adds nodes that are simulated by this process, in addition to the real ones. They exist until Remove
// deletes them.
func (c *Cluster) Simulate(ctx context.Context, options kubelet.Options) (*kubelet.Nodes, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return kubelet.Start(ctx, config, options)
}
