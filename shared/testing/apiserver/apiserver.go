// Package apiserver runs a kube-apiserver and etcd for tests. There are no other control plane components: tests act as
// controllers, the scheduler, kubelets and the garbage collector.
package apiserver

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// patience is the timeout for starting and stopping. The 20 s default of envtest is too short for a busy machine.
const patience = 2 * time.Minute

// Start runs both programs, with the CRDs in the given folders installed. Call stop to end them.
func Start(crds ...string) (config *rest.Config, stop func() error, err error) {
	env, err := Environment(crds...)
	if err != nil {
		return nil, nil, err
	}
	config, err = Run(env)
	return config, env.Stop, err
}

// Environment returns the environment that Start runs, for tests that need other options.
func Environment(crds ...string) (*envtest.Environment, error) {
	apiServer, etcd, err := assets()
	if err != nil {
		return nil, err
	}
	env := &envtest.Environment{CRDDirectoryPaths: crds, ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience}
	env.ControlPlane.GetAPIServer().Path = apiServer
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	return env, nil
}

// Run starts an environment. If that fails, everything is stopped.
func Run(env *envtest.Environment) (*rest.Config, error) {
	config, err := env.Start()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), env.Stop())
	}
	config.QPS, config.Burst = 500, 500 // as in the managers
	return config, nil
}

// Main implements TestMain for a package in which tests share an API server: it sets *cluster, runs the tests and returns the exit
// code. Loggers that are not set are silent.
func Main(m *testing.M, cluster **rest.Config, crds ...string) int {
	log.SetLogger(logr.Discard())
	config, stop, err := Start(crds...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	*cluster = config
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
	}
	return code
}

// ForTest starts an API server for a single test and returns the connection and a client with the scheme.
func ForTest(t *testing.T, scheme *runtime.Scheme, crds ...string) (*rest.Config, client.Client) {
	t.Helper()
	config, stop, err := Start(crds...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error("stopping the control plane:", err)
		}
	})
	k8s, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return config, k8s
}
