// Package apiserver runs a real kube-apiserver and etcd for tests and benchmarks of the scheduler. No other program of a control plane runs.
package apiserver

import (
	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// Start runs both. stop ends them. Nodes get no taint for not being ready, as nobody would take it off.
func Start() (config *rest.Config, stop func() error, err error) {
	env, err := apiserver.Environment()
	if err != nil {
		return nil, nil, err
	}
	env.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "TaintNodesByCondition")
	config, err = apiserver.Run(env)
	return config, env.Stop, err
}
