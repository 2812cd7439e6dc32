package testbed

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-project/holdfast/e2e/testbed/pki"
)

// contextName is the name of the only context in each kubeconfig.
const contextName = "testbed"

// kubeconfig returns a self-contained kubeconfig, which can be copied into a pod or to another user.
func kubeconfig(ca []byte, user pki.Pair) (string, error) {
	config := api.NewConfig()
	config.Clusters[contextName] = &api.Cluster{Server: apiURL(), CertificateAuthorityData: ca}
	config.AuthInfos[contextName] = &api.AuthInfo{ClientCertificateData: user.Certificate, ClientKeyData: user.Key}
	config.Contexts[contextName] = &api.Context{Cluster: contextName, AuthInfo: contextName}
	config.CurrentContext = contextName
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return "", fmt.Errorf("rendering a kubeconfig: %w", err)
	}
	return string(raw), nil
}

func (l Layout) componentKubeconfig(name string) string { return l.state("kubeconfigs", name) }

// isUp reports whether a testbed was started on this host and has not been taken down.
func (l Layout) isUp() bool {
	_, err := os.Stat(l.Kubeconfig())
	return err == nil
}
