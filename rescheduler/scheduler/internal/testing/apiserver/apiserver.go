// Package apiserver runs a kube-apiserver and etcd for tests and benchmarks of the scheduler, without other control plane components.
package apiserver

import (
	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// Start starts the API server and etcd. Call stop to stop them. New nodes get no not-ready taint, because nothing would remove it.
func Start() (config *rest.Config, stop func() error, err error) {
	env, err := apiserver.Environment()
	if err != nil {
		return nil, nil, err
	}
	env.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "TaintNodesByCondition")
	config, err = apiserver.Run(env)
	return config, env.Stop, err
}
