package testbed

import "github.com/holdfast-project/holdfast/e2e/testbed/pki"

// ServingCertificate makes a certificate for a server under the given names and addresses, such as a webhook's. The API
// server trusts it given Authority.
func (c *Cluster) ServingCertificate(hosts ...string) (pki.Pair, error) {
	ca, err := c.layout.store().Authority(authority)
	if err != nil {
		return pki.Pair{}, err
	}
	return ca.Issue(pki.Request{Name: hosts[0], Hosts: hosts})
}

// Authority is the certificate of the cluster's authority, in PEM: the caBundle of a webhook.
func (c *Cluster) Authority() ([]byte, error) {
	ca, err := c.layout.store().Authority(authority)
	if err != nil {
		return nil, err
	}
	return ca.Certificate, nil
}
