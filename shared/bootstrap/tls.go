package bootstrap

import (
	"crypto/tls"
	"fmt"
)

var tlsVersions = map[string]uint16{"": 0, "VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}

// change is what the options do to the configuration of a server.
func (t TLS) change() (func(*tls.Config), error) {
	version, known := tlsVersions[t.MinVersion]
	if !known {
		return nil, fmt.Errorf("tls.minVersion: %q is not VersionTLS12 or VersionTLS13", t.MinVersion)
	}
	if version == tls.VersionTLS13 && len(t.CipherSuites) > 0 {
		return nil, fmt.Errorf("tls.cipherSuites: those of VersionTLS13 cannot be chosen")
	}
	var suites []uint16
	for _, name := range t.CipherSuites {
		id, known := cipherSuite(name)
		if !known {
			return nil, fmt.Errorf("tls.cipherSuites: %q is unknown or insecure", name)
		}
		suites = append(suites, id)
	}
	return func(c *tls.Config) {
		c.MinVersion = version
		c.CipherSuites = suites
	}, nil
}

func cipherSuite(name string) (id uint16, known bool) {
	for _, suite := range tls.CipherSuites() {
		if suite.Name == name {
			return suite.ID, true
		}
	}
	return 0, false
}

// onlyHTTP1 turns HTTP/2 off: its rapid reset lets a client exhaust the endpoint.
func onlyHTTP1(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }
