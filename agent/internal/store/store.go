// Package store connects an agent to the group store.
package store

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Open prepares the connection; name is shown in the server's list of clients. Passwords and client certificates are read
// again for each connection, so that they can be rotated under a running worker; the CA is read once.
func Open(c config.Store, name string) (*valkey.Store, error) {
	secure, err := secured(c)
	if err != nil {
		return nil, err
	}
	return valkey.New(valkey.Options{
		Address: c.Address, Username: c.Username, PasswordFile: c.PasswordFile, TLS: secure, ClientName: name,
	})
}

// secured is nil without a CA.
func secured(c config.Store) (*tls.Config, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the store's CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading the store's CA: no certificate in %s", c.CAFile)
	}
	secure := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if c.CertFile != "" {
		secure.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
			return &pair, err
		}
	}
	return secure, nil
}
