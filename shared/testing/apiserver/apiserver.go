// Package apiserver runs a real kube-apiserver and etcd for tests. No other program of a control plane runs: tests play controllers, the
// scheduler, kubelets and the garbage collector themselves.
package apiserver

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Start runs both with the CRDs of the folders installed. stop ends them.
func Start(crds ...string) (config *rest.Config, stop func() error, err error) {
	env, err := Environment(crds...)
	if err != nil {
		return nil, nil, err
	}
	config, err = Run(env)
	return config, env.Stop, err
}

// Environment is what Start runs, for tests that want something else of it first.
func Environment(crds ...string) (*envtest.Environment, error) {
	apiServer, etcd, err := assets()
	if err != nil {
		return nil, err
	}
	env := &envtest.Environment{CRDDirectoryPaths: crds, ErrorIfCRDPathMissing: true}
	env.ControlPlane.GetAPIServer().Path = apiServer
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	return env, nil
}

// Run an environment. If it does not come up nothing is left of it.
func Run(env *envtest.Environment) (*rest.Config, error) {
	config, err := env.Start()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), env.Stop())
	}
	config.QPS, config.Burst = 500, 500 // what our managers have
	return config, nil
}

// Main is the TestMain of a package whose tests share one API server: it fills in the connection, runs the tests and returns the exit
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

// ForTest is an API server of the test's own, with a client that knows the scheme. It ends with the test.
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
