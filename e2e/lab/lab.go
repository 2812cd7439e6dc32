// Package lab is what the demo and the end-to-end tests do on a testbed: install Holdfast's programs as they were built,
// apply manifests, kill workers, and look at what became of them.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Lab is a testbed with clients for all of it.
type Lab struct {
	Cluster *testbed.Cluster
	Client  client.WithWatch
	Kube    kubernetes.Interface
	Store   *valkey.Store
	// OrchestratorLease is how long an orchestrator that is silent is still the leader. One that could not renew it ends, and
	// nobody starts it again; so it outlasts a machine that stalls, but where a test kills the orchestrator and waits for it.
	OrchestratorLease time.Duration
	root              string // of the repository
	// serving are the folders with certificates of programs, which Close removes.
	serving map[string]string
}

const orchestratorLease = time.Minute

// New brings the testbed up and connects to it. Close the lab after use; the testbed stays.
func New(ctx context.Context, options testbed.Options, progress io.Writer) (*Lab, error) {
	root, err := binaries.Root()
	if err != nil {
		return nil, err
	}
	cluster, err := testbed.Up(ctx, options, progress)
	if err != nil {
		return nil, err
	}
	l := &Lab{Cluster: cluster, OrchestratorLease: orchestratorLease, root: root, serving: map[string]string{}}
	return l, l.connect()
}

func (l *Lab) connect() error {
	config, err := l.Cluster.RESTConfig()
	if err != nil {
		return err
	}
	if l.Client, err = l.ClientFor(v1alpha2.AddToScheme); err != nil {
		return err
	}
	if l.Kube, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("preparing the client: %w", err)
	}
	l.Store, err = valkey.New(valkey.Options{Address: l.Cluster.RedisAddress(), ClientName: "holdfast-lab"})
	return err
}

// ClientFor is a client that knows Kubernetes' own kinds and these.
func (l *Lab) ClientFor(kinds ...func(*runtime.Scheme) error) (client.WithWatch, error) {
	config, err := l.Cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{clientgoscheme.AddToScheme}, kinds...) {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("preparing the client: %w", err)
		}
	}
	k8s, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("preparing the client: %w", err)
	}
	return k8s, nil
}

// TakesScheduler reports whether the cluster may run the scheduler with the plugin, which is of the newest minor version: a scheduler must not be
// newer than the API server, and the chart refuses it.
func (l *Lab) TakesScheduler() bool {
	return l.Cluster.Options().Kubernetes == binaries.DefaultKubernetes
}

// Close ends the connections.
func (l *Lab) Close() error {
	err := l.Store.Close()
	for _, folder := range l.serving {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// File is a file of the repository.
func (l *Lab) File(parts ...string) string {
	return filepath.Join(append([]string{l.root}, parts...)...)
}
