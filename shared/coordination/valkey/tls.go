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

// TLSFiles are the paths of the files for TLS. Without a CA, TLS is off. The key pair is for servers that require a client
// certificate.
type TLSFiles struct {
	CA, Cert, Key string
	ServerName    string // name that the server's certificate must have; if empty, the host of the address
}

// Check returns an error if a file is missing.
func (f TLSFiles) Check() error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("a TLS certificate and its key go together: give both or none")
	case f.CA == "" && cmp.Or(f.Cert, f.ServerName) != "":
		return errors.New("TLS needs the certificates that the store's is checked against")
	}
	return nil
}

// Config returns the configuration for a server at host:port, nil without a CA. All files are read again for each connection, so
// that they can be replaced while the program runs. The CA is also read here, to report errors at the start.
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
		InsecureSkipVerify: true, // VerifyConnection checks it, with the current roots
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
