package testbed

import (
	"context"

	"github.com/holdfast-project/holdfast/e2e/simulated"
)

// Simulate adds nodes that are played by this process, beside the real ones. They stay until the fleet is removed.
func (c *Cluster) Simulate(ctx context.Context, options simulated.Options) (*simulated.Fleet, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return simulated.Start(ctx, config, options)
}
