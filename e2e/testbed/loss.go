package testbed

import (
	"context"
	"fmt"
)

// KillNode ends all that runs on a real node at once, its pods included, as a loss of power does. The API server is told
// nothing. Nodes are counted from 1; Up brings it back.
func (c *Cluster) KillNode(ctx context.Context, number int) error {
	n, err := c.node(number)
	if err != nil {
		return err
	}
	return c.exclusively(func() error { return n.group().Kill(ctx) })
}

// KillKubelet lets a real node fall silent while its pods run on, as one does that is cut off. Up brings it back.
func (c *Cluster) KillKubelet(ctx context.Context, number int) error {
	n, err := c.node(number)
	if err != nil {
		return err
	}
	return c.KillProgram(ctx, n.kubelet())
}

func (c *Cluster) node(number int) (node, error) {
	if number < 1 || number > c.options.Nodes {
		return node{}, fmt.Errorf("there is no node-%d: the testbed has %d", number, c.options.Nodes)
	}
	return node{number: number, layout: c.layout}, nil
}
