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

// ErrNotUp says that there is no testbed on this host.
var ErrNotUp = errors.New("the testbed is not up")

// Cluster is a testbed that was brought up.
type Cluster struct {
	layout  Layout
	options Options
}

// Attach returns the testbed that is up already, whatever its options and
// health, or ErrNotUp.
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

// RESTConfig makes clients that are the administrator. They are not throttled.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.layout.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Options are those of the last Up.
func (c *Cluster) Options() Options { return c.options }

// Layout says where logs and binaries lie.
func (c *Cluster) Layout() Layout { return c.layout }

// KubeconfigPath is the administrator's kubeconfig.
func (c *Cluster) KubeconfigPath() string { return c.layout.Kubeconfig() }

// CRISocket is node-1's containerd socket on the host. Pods find the same socket
// at /run/containerd/containerd.sock of their node.
func (c *Cluster) CRISocket() string { return node{number: 1}.socket() }

// NodeCRISocket is the same for any node, counted from 1.
func (c *Cluster) NodeCRISocket(number int) string { return node{number: number}.socket() }

// DevicePlugins is the host's path of the folder in which a node's kubelet and its device plugins meet.
func (c *Cluster) DevicePlugins(number int) (string, error) {
	n, err := c.node(number)
	if err != nil {
		return "", err
	}
	return n.dir("kubelet", "device-plugins"), nil
}

// NodeNames are the names of the real nodes.
func (c *Cluster) NodeNames() []string {
	var names []string
	for _, n := range c.layout.nodes(c.options.Nodes) {
		names = append(names, n.name())
	}
	return names
}

// RedisAddress is the store's address from the host and from pods.
func (c *Cluster) RedisAddress() string { return redisAddress }

// HostAddress is this host as pods see it: a server that listens on it is
// reached from pods and by the API server.
func (c *Cluster) HostAddress() string { return hostAddress }

func (c *Cluster) table() process.Table { return process.Table{Dir: c.layout.processDir()} }

func (c *Cluster) up() *up { return newUp(c.layout, c.options, io.Discard) }

// exclusively keeps Up and Down of other processes out.
func (c *Cluster) exclusively(do func() error) error {
	unlock, err := lock(context.Background(), c.layout, io.Discard)
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}
