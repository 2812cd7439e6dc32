package testbed

import (
	"fmt"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// dnsUser is the identity under which CoreDNS reads services.
const dnsUser = "system:coredns"

// corefile serves only names within the cluster. The TTL is one second, so that a name is updated quickly when
// its pod changes.
func corefile(kubeconfig string) string {
	return fmt.Sprintf(`.:53 {
	bind %s
	errors
	kubernetes %s in-addr.arpa {
		kubeconfig %s %s
		pods insecure
		ttl 1
	}
}
`, hostAddress, clusterDomain, kubeconfig, contextName)
}

func (u *up) coreDNS() (component, error) {
	content := corefile(u.layout.componentKubeconfig(coreDNS))
	path := u.layout.state("config", "Corefile")
	if err := writeFile(path, content); err != nil {
		return component{}, err
	}
	return component{
		spec: u.spec(process.Spec{Name: coreDNS, Dir: u.layout.state(coreDNS), Inputs: []string{content}, Command: []string{
			u.layout.program(coreDNS), "-conf", path,
		}}),
		ready: resolves,
	}, nil
}
