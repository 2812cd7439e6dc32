package testbed

import "github.com/holdfast-project/holdfast/e2e/testbed/pki"

// ServingCertificate creates a certificate for a server with the given names and addresses, such as a webhook
// server. The API server trusts it if it is configured with Authority.
func (c *Cluster) ServingCertificate(hosts ...string) (pki.Pair, error) {
	ca, err := c.layout.store().Authority(authority)
	if err != nil {
		return pki.Pair{}, err
	}
	return ca.Issue(pki.Request{Name: hosts[0], Hosts: hosts})
}

// Authority returns the cluster authority's certificate in PEM format, for a webhook's caBundle.
func (c *Cluster) Authority() ([]byte, error) {
	ca, err := c.layout.store().Authority(authority)
	if err != nil {
		return nil, err
	}
	return ca.Certificate, nil
}
