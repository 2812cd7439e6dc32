package valkey

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
)

// TLSFiles are the paths of what a connection by TLS needs. Without a CA there is no TLS; the key pair is for servers that
// ask their clients for a certificate.
type TLSFiles struct {
	CA, Cert, Key string
	ServerName    string // that the server's certificate has to be for; empty: the host of the address
}

// Check returns what is missing.
func (f TLSFiles) Check() error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("a TLS certificate and its key go together: give both or none")
	case f.CA == "" && cmp.Or(f.Cert, f.ServerName) != "":
		return errors.New("TLS needs the certificates that the store's is checked against")
	}
	return nil
}

// Config is for a server at host:port; it is nil without a CA. All files are read again for each connection, so that they can
// be exchanged under a running program; the CA is read here as well, to tell at the start what is wrong with it.
func (f TLSFiles) Config(address string) (*tls.Config, error) {
	if err := f.Check(); err != nil || f.CA == "" {
		return nil, err
	}
	if _, err := f.roots(); err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("store address %q: want host:port: %w", address, err)
	}
	f.ServerName = cmp.Or(f.ServerName, host)
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: f.ServerName,
		InsecureSkipVerify: true, // the check is VerifyConnection, with the roots of the moment
		VerifyConnection:   f.verify,
	}
	if f.Cert != "" {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
			return &pair, err
		}
	}
	return c, nil
}

// verify checks a server's certificate as crypto/tls does.
func (f TLSFiles) verify(state tls.ConnectionState) error {
	roots, err := f.roots()
	if err != nil {
		return err
	}
	if len(state.PeerCertificates) == 0 {
		return errors.New("the store shows no certificate")
	}
	rest := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		rest.AddCert(c)
	}
	_, err = state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: rest, DNSName: f.ServerName})
	return err
}

func (f TLSFiles) roots() (*x509.CertPool, error) {
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("reading the store's CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading the store's CA: no certificate in %s", f.CA)
	}
	return roots, nil
}
