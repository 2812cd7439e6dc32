package testbed

import (
	"context"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
)

// Simulate adds nodes that this process simulates, in addition to the real ones. They stay until Remove deletes them.
func (c *Cluster) Simulate(ctx context.Context, options kubelet.Options) (*kubelet.Nodes, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return kubelet.Start(ctx, config, options)
}
