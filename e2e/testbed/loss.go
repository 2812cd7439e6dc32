package testbed

import (
	"context"
	"fmt"
)

// KillNode immediately kills everything that is running on a real node, including its pods, like a power failure. The
// API server is not notified. Nodes are counted from 1. Up restores the node.
func (c *Cluster) KillNode(ctx context.Context, number int) error {
	n, err := c.node(number)
	if err != nil {
		return err
	}
	return c.exclusively(func() error { return n.group().Kill(ctx) })
}

// KillKubelet makes a real node unreachable while its pods keep running, like a network partition. Up restores the
// node.
func (c *Cluster) KillKubelet(ctx context.Context, number int) error {
	n, err := c.node(number)
	if err != nil {
		return err
	}
	return c.KillProgram(ctx, n.kubelet())
}

// CutNode kills a real node's kubelet and takes its pods off the network, while they keep running. Up restores the node.
func (c *Cluster) CutNode(ctx context.Context, number int) error {
	n, err := c.node(number)
	if err != nil {
		return err
	}
	if err := n.bridge().Down(ctx); err != nil {
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
