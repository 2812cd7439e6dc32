package testbed

import (
	"fmt"

	"github.com/holdfast-project/holdfast/e2e/testbed/pki"
)

// Names of files in the certificate store.
const (
	authority       = "ca"
	serviceAccounts = "sa"
	adminCert       = "admin"
	serverCert      = "kube-apiserver"
	kubeletClient   = "kube-apiserver-kubelet-client"
	loopbackCert    = "loopback"
)

// servers lists the certificates that are used as files. Their names are also file names.
var servers = map[string]pki.Request{
	serverCert: {Name: "kube-apiserver", Hosts: []string{
		hostAddress, apiService, "127.0.0.1", "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + clusterDomain,
	}},
	loopbackCert:  {Name: "loopback", Hosts: []string{"127.0.0.1", "localhost"}},
	kubeletClient: {Name: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
}

// users lists the identities that get a kubeconfig.
var users = map[string]pki.Request{
	controllerManager: {Name: "system:kube-controller-manager"},
	scheduler:         {Name: "system:kube-scheduler"},
	coreDNS:           {Name: dnsUser},
	kubeProxy:         {Name: "system:kube-proxy"},
}

// ensureCertificates creates missing certificates and kubeconfigs.
func (l Layout) ensureCertificates(nodes []node) error {
	store := l.store()
	ca, err := store.Authority(authority)
	if err != nil {
		return err
	}
	if _, err := store.KeyPair(serviceAccounts); err != nil {
		return err
	}
	requests := map[string]pki.Request{}
	for name, request := range servers {
		requests[name] = request
	}
	for _, n := range nodes {
		requests[n.name()+"-server"] = pki.Request{Name: n.name(), Hosts: []string{n.address(), n.name()}}
	}
	for name, request := range requests {
		if _, err := store.Issue(name, ca, request); err != nil {
			return err
		}
	}
	return l.ensureKubeconfigs(store, ca, nodes)
}

func (l Layout) ensureKubeconfigs(store pki.Store, ca *pki.Authority, nodes []node) error {
	files := map[string]pki.Request{}
	for name, request := range users {
		files[name] = request
	}
	for _, n := range nodes {
		files[n.name()] = pki.Request{Name: "system:node:" + n.name(), Groups: []string{"system:nodes"}}
	}
	for name, request := range files {
		if err := writeKubeconfig(store, ca, name, request, l.componentKubeconfig(name)); err != nil {
			return err
		}
	}
	// The administrator's kubeconfig is written last, because it marks the set as complete.
	admin := pki.Request{Name: "kubernetes-admin", Groups: []string{"system:masters"}}
	return writeKubeconfig(store, ca, adminCert, admin, l.Kubeconfig())
}

func writeKubeconfig(store pki.Store, ca *pki.Authority, name string, request pki.Request, file string) error {
	pair, err := store.Issue(name+"-client", ca, request)
	if err != nil {
		return err
	}
	content, err := kubeconfig(ca.Certificate, pair)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return writeFile(file, content)
}

func (l Layout) store() pki.Store { return pki.Store{Dir: l.pkiDir()} }
