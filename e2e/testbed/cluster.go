package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// ErrNotUp means that there is no testbed on this host.
var ErrNotUp = errors.New("the testbed is not up")

// Cluster is a running testbed.
type Cluster struct {
	layout  Layout
	options Options
}

// Attach returns the testbed that is up, regardless of its options and health, or ErrNotUp.
func Attach() (*Cluster, error) {
	layout, err := NewLayout()
	if err != nil {
		return nil, err
	}
	if !layout.isUp() {
		return nil, ErrNotUp
	}
	options, err := loadOptions(layout.optionsFile())
	if err != nil {
		return nil, fmt.Errorf("reading the testbed's options: %w", err)
	}
	return &Cluster{layout: layout, options: options.defaulted()}, nil
}

// RESTConfig returns a client configuration for the administrator. Its clients are not throttled.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.layout.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Options returns the options of the last Up.
func (c *Cluster) Options() Options { return c.options }

// Layout returns the locations of logs and binaries.
func (c *Cluster) Layout() Layout { return c.layout }

// KubeconfigPath returns the path of the administrator's kubeconfig.
func (c *Cluster) KubeconfigPath() string { return c.layout.Kubeconfig() }

// CRISocket returns the path of node-1's containerd socket on the host. For pods, the same socket is at
// /run/containerd/containerd.sock on their node.
func (c *Cluster) CRISocket() string { return node{number: 1}.socket() }

// NodeCRISocket is like CRISocket for any node, counted from 1.
func (c *Cluster) NodeCRISocket(number int) string { return node{number: number}.socket() }

// DevicePlugins returns the path on the host of the directory in which device plugins register with a node's
// kubelet.
func (c *Cluster) DevicePlugins(number int) (string, error) {
	n, err := c.node(number)
	if err != nil {
		return "", err
	}
	return n.dir("kubelet", "device-plugins"), nil
}

// NodeNames returns the names of the real nodes.
func (c *Cluster) NodeNames() []string {
	var names []string
	for _, n := range c.layout.nodes(c.options.Nodes) {
		names = append(names, n.name())
	}
	return names
}

// RedisAddress returns the store's address, which the host and pods can use.
func (c *Cluster) RedisAddress() string { return redisAddress }

// HostAddress returns this host's address as seen by pods. Pods and the API server can reach a server that listens
// on it.
func (c *Cluster) HostAddress() string { return hostAddress }

func (c *Cluster) table() process.Table { return process.Table{Dir: c.layout.processDir()} }

func (c *Cluster) up() *up { return newUp(c.layout, c.options, io.Discard) }

// exclusively runs do while no other process can run Up or Down.
func (c *Cluster) exclusively(do func() error) error {
	unlock, err := lock(context.Background(), c.layout, io.Discard)
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}
