// Package framework contains what the demo, the benchmarks and the end-to-end suites share. It installs the programs
// from `make build` on a testbed, applies manifests, kills workers and waits for the effects.
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

// Environment is a testbed and its clients.
type Environment struct {
	Cluster *testbed.Cluster
	Client  client.WithWatch
	Kube    kubernetes.Interface
	Store   *valkey.Store
	// OrchestratorLease is the lease duration of the orchestrator's leader election. An orchestrator that cannot renew
	// its lease exits, and nothing restarts it. The duration therefore exceeds the time for which a machine may stall,
	// except where a test kills the orchestrator and waits for the lease to expire.
	OrchestratorLease time.Duration
	root              string // root of the repository
	// serving holds the directories with certificates of programs. Close removes them.
	serving map[string]string
}

const orchestratorLease = time.Minute

// New brings the testbed up and connects to it. Close the environment after use. The testbed keeps running.
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

// ClientFor returns a client for the built-in kinds and the given ones.
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

// TakesScheduler reports whether the cluster can run the scheduler with the plugin. The scheduler is built for the
// newest minor version. It must not be newer than the API server, which the chart enforces.
func (env *Environment) TakesScheduler() bool {
	return env.Cluster.Options().Kubernetes == binaries.DefaultKubernetes
}

// Close closes the connections.
func (env *Environment) Close() error {
	err := env.Store.Close()
	for _, folder := range env.serving {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// File returns the path of a file in the repository.
func (env *Environment) File(parts ...string) string {
	return filepath.Join(append([]string{env.root}, parts...)...)
}
