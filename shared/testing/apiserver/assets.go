package apiserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// errNoAssets explains how to install the programs. Tests fail with it instead of being skipped.
var errNoAssets = errors.New("kube-apiserver and etcd not found: run `make prerequisites`, or set HOLDFAST_ENVTEST_ASSETS or KUBEBUILDER_ASSETS to the folder that contains them")

// Program returns the path of a control plane program that `make prerequisites` installs, such as kube-controller-manager.
func Program(name string) (string, error) {
	for _, folder := range folders() {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s: run `make prerequisites`, or set HOLDFAST_ENVTEST_ASSETS to its folder", name)
}

// assets finds the programs in the folders set in the environment or, by default, in the cache of `make prerequisites`. etcd may
// also be on the PATH.
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
