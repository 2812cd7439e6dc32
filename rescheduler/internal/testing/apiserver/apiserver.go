//go:build envtest

// Package apiserver runs a real kube-apiserver and etcd for tests, and the real controllers of workloads if they are asked for. Tests play
// the scheduler and the kubelets themselves.
package apiserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// errNoAssets says what to do instead of skipping the tests.
var errNoAssets = errors.New("no kube-apiserver and etcd: run `make prerequisites`, or set HOLDFAST_ENVTEST_ASSETS or KUBEBUILDER_ASSETS to their folder")

// Cluster that runs.
type Cluster struct {
	Config *rest.Config

	env         *envtest.Environment
	controllers *exec.Cmd
	folder      string
}

// Start a control plane with the CRDs of the folders installed.
func Start(crds ...string) (*Cluster, error) {
	apiServer, etcd, err := assets()
	if err != nil {
		return nil, err
	}
	env := &envtest.Environment{CRDDirectoryPaths: crds, ErrorIfCRDPathMissing: true}
	env.ControlPlane.GetAPIServer().Path = apiServer
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	config, err := env.Start()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), env.Stop())
	}
	return &Cluster{Config: config, env: env}, nil
}

// User of the cluster who has no rights yet.
func (c *Cluster) User(name string) (*rest.Config, error) {
	user, err := c.env.AddUser(envtest.User{Name: name}, &rest.Config{QPS: c.Config.QPS, Burst: c.Config.Burst})
	if err != nil {
		return nil, fmt.Errorf("adding user %s: %w", name, err)
	}
	return user.Config(), nil
}

// controllers of workloads, and what they need.
const controllers = "deployment-controller,replicaset-controller,statefulset-controller,job-controller,cronjob-controller,disruption-controller"

// RunControllers starts the real ones. It needs the folder of `make prerequisites`.
func (c *Cluster) RunControllers() error {
	program, err := find("kube-controller-manager")
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

// Stop ends all of it.
func (c *Cluster) Stop() error {
	if c.controllers != nil && c.controllers.Process != nil {
		_ = c.controllers.Process.Kill()
		_ = c.controllers.Wait() // it was killed
	}
	return errors.Join(c.env.Stop(), os.RemoveAll(c.folder))
}

// find a program of the control plane.
func find(program string) (string, error) {
	for _, folder := range folders() {
		path := filepath.Join(folder, program)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s: run `make prerequisites`, or set HOLDFAST_ENVTEST_ASSETS to its folder", program)
}

// assets finds the programs in the folder that the environment names, or in the cache that `make prerequisites` fills. etcd may
// also come from the system.
func assets() (apiServer, etcd string, err error) {
	for _, folder := range folders() {
		apiServer = filepath.Join(folder, "kube-apiserver")
		if _, err := os.Stat(apiServer); err != nil {
			continue
		}
		if etcd, err := exec.LookPath(filepath.Join(folder, "etcd")); err == nil {
			return apiServer, etcd, nil
		}
		if etcd, err := exec.LookPath("etcd"); err == nil {
			return apiServer, etcd, nil
		}
	}
	return "", "", errNoAssets
}

func folders() []string {
	var found []string
	for _, variable := range []string{"HOLDFAST_ENVTEST_ASSETS", "KUBEBUILDER_ASSETS"} {
		if folder := os.Getenv(variable); folder != "" {
			found = append(found, folder)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil && len(found) == 0 {
		found = append(found, filepath.Join(cache, "holdfast", "bin"))
	}
	return found
}
