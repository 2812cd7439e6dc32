package valkey

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// Options configure the connection to the server. Only Address is required.
type Options struct {
	Address      string // host:port
	Username     string // ACL user; if empty, the default user is used
	PasswordFile string // read for each connection, so that no restart is needed after the password is rotated
	TLS          TLSFiles
	ClientName   string // shown in CLIENT LIST

	PoolSize     int           // connections for calls, in addition to one for each Watch; default 1, but leaders need more
	Timeout      time.Duration // timeout for a TCP connection, for writing and for an answer; default 2 s
	Resync       time.Duration // a Watch rereads the level after a random time between half this interval and all of it; default 30 s
	PingInterval time.Duration // a subscription without traffic for two intervals is closed; default 10 s
	MaxBackoff   time.Duration // the longest pause before a Watch reconnects; default 5 s

	OnLost func(error) // called with the reason whenever WatchAll loses its subscription; optional
}

func (o Options) withDefaults() Options {
	o.PoolSize = cmp.Or(o.PoolSize, 1)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.Resync = cmp.Or(o.Resync, 30*time.Second)
	o.PingInterval = cmp.Or(o.PingInterval, 10*time.Second)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 5*time.Second)
	if o.OnLost == nil {
		o.OnLost = func(error) {}
	}
	return o
}

func (o Options) check() error {
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return fmt.Errorf("store address %q: want host:port: %w", o.Address, err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
		return fmt.Errorf("store address %q: want host:port with a port from 1 to 65535", o.Address)
	}
	_, err = o.TLS.Config()
	return err
}

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
		return errors.New("a TLS certificate and its key go together: give both or neither")
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
