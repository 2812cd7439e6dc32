//go:build envtest

// Package apiserver runs a real kube-apiserver and etcd for tests. No other program of a control plane runs: tests play the scheduler, the kubelets
// and the garbage collector themselves.
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

// Start runs both with the CRDs of the folders installed. stop ends them.
func Start(crds ...string) (config *rest.Config, stop func() error, err error) {
	apiServer, etcd, err := assets()
	if err != nil {
		return nil, nil, err
	}
	env := &envtest.Environment{CRDDirectoryPaths: crds, ErrorIfCRDPathMissing: true}
	env.ControlPlane.GetAPIServer().Path = apiServer
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	config, err = env.Start()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), env.Stop())
	}
	return config, env.Stop, nil
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
