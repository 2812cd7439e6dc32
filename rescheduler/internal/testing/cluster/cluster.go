//go:build envtest

// Package cluster runs a real kube-apiserver and etcd for tests, and the real workload controllers on request. Tests act as the scheduler
// and the kubelets.
package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// Cluster is a running control plane.
type Cluster struct {
	Config *rest.Config

	env         *envtest.Environment
	controllers *exec.Cmd
	folder      string
}

// Start starts a control plane and installs the CRDs in the given directories.
func Start(crds ...string) (*Cluster, error) {
	env, err := apiserver.Environment(crds...)
	if err != nil {
		return nil, err
	}
	config, err := apiserver.Run(env)
	return &Cluster{Config: config, env: env}, err
}

// User returns the client configuration of a user without permissions.
func (c *Cluster) User(name string) (*rest.Config, error) {
	user, err := c.env.AddUser(envtest.User{Name: name}, &rest.Config{QPS: c.Config.QPS, Burst: c.Config.Burst})
	if err != nil {
		return nil, fmt.Errorf("adding user %s: %w", name, err)
	}
	return user.Config(), nil
}

// controllers are the workload controllers and the disruption controller.
const controllers = "deployment-controller,replicaset-controller,statefulset-controller,job-controller,cronjob-controller,disruption-controller"

// RunControllers starts kube-controller-manager from the directory of `make prerequisites`.
func (c *Cluster) RunControllers() error {
	program, err := apiserver.Program("kube-controller-manager")
	if err != nil {
		return err
	}
	if c.folder, err = os.MkdirTemp("", "controllers-"); err != nil {
		return err
	}
	kubeconfig := filepath.Join(c.folder, "kubeconfig")
	if err := os.WriteFile(kubeconfig, c.env.KubeConfig, 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(c.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c.controllers = exec.Command(program, "--kubeconfig="+kubeconfig, "--controllers="+controllers, "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=500", "--kube-api-burst=500")
	c.controllers.Stdout, c.controllers.Stderr = log, log
	return c.controllers.Start()
}

// Stop stops the controllers and the control plane.
func (c *Cluster) Stop() error {
	if c.controllers != nil && c.controllers.Process != nil {
		_ = c.controllers.Process.Kill()
		_ = c.controllers.Wait() // always fails, because the process was killed
	}
	return errors.Join(c.env.Stop(), os.RemoveAll(c.folder))
}
