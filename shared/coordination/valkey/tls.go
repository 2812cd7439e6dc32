package valkey

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSFiles are the paths of the TLS files. Without a CA, TLS is off. The key pair is only needed for servers that require a
// client certificate.
type TLSFiles struct {
	CA         string `json:"caFile,omitempty"`
	Cert       string `json:"certFile,omitempty"`
	Key        string `json:"keyFile,omitempty"`
	ServerName string `json:"serverName,omitempty"` // name that the server's certificate must have; default is the host in the address
}

// Check returns an error if a required setting is missing.
func (f TLSFiles) Check() error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("a TLS certificate and its key go together: give both or none")
	case f.CA == "" && cmp.Or(f.Cert, f.ServerName) != "":
		return errors.New("TLS requires a CA to verify the store's certificate")
	}
	return nil
}

// Config returns the configuration for one connection, or nil if there is no CA. The files are read for each connection, so that
// they can be replaced while the program is running.
func (f TLSFiles) Config() (*tls.Config, error) {
	if err := f.Check(); err != nil || f.CA == "" {
		return nil, err
	}
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("reading the store's CA: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName, RootCAs: x509.NewCertPool()}
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading the store's CA: no certificate in %s", f.CA)
	}
	if f.Cert != "" {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
			return &pair, err
		}
	}
	return c, nil
}
