// Package framework has what the demo, the benchmarks and the end-to-end suites do on a testbed: install the programs that `make build` built,
// apply manifests, kill workers, and wait for what follows.
package framework

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

// Environment is a testbed with clients for all of it.
type Environment struct {
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

// New brings the testbed up and connects to it. Close the environment after use; the testbed stays.
func New(ctx context.Context, options testbed.Options, progress io.Writer) (*Environment, error) {
	root, err := binaries.Root()
	if err != nil {
		return nil, err
	}
	cluster, err := testbed.Up(ctx, options, progress)
	if err != nil {
		return nil, err
	}
	env := &Environment{Cluster: cluster, OrchestratorLease: orchestratorLease, root: root, serving: map[string]string{}}
	return env, env.connect()
}

func (env *Environment) connect() error {
	config, err := env.Cluster.RESTConfig()
	if err != nil {
		return err
	}
	if env.Client, err = env.ClientFor(v1alpha2.AddToScheme); err != nil {
		return err
	}
	if env.Kube, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("preparing the client: %w", err)
	}
	env.Store, err = valkey.New(valkey.Options{Address: env.Cluster.RedisAddress(), ClientName: "holdfast-e2e"})
	return err
}

// ClientFor is a client that knows Kubernetes' own kinds and these.
func (env *Environment) ClientFor(kinds ...func(*runtime.Scheme) error) (client.WithWatch, error) {
	config, err := env.Cluster.RESTConfig()
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
func (env *Environment) TakesScheduler() bool {
	return env.Cluster.Options().Kubernetes == binaries.DefaultKubernetes
}

// Close ends the connections.
func (env *Environment) Close() error {
	err := env.Store.Close()
	for _, folder := range env.serving {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// File is a file of the repository.
func (env *Environment) File(parts ...string) string {
	return filepath.Join(append([]string{env.root}, parts...)...)
}
