package members

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// The files of a server.
const (
	certFile     = "tls.crt"
	keyFile      = "tls.key"
	passwordFile = "password"
)

const password = "of-all-members"

func (s *Server) file(name string) string { return filepath.Join(s.dir, name) }

// credentials writes a certificate of the kind that the chart makes, and the password.
func (s *Server) credentials() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		certFile:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		keyFile:      pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		passwordFile: []byte(password),
	} {
		if err := os.WriteFile(s.file(name), content, 0o600); err != nil {
			return err
		}
	}
	s.Options = valkey.Options{Address: s.Address, PasswordFile: s.file(passwordFile)}
	s.Options.TLS, err = valkey.TLSFiles{CA: s.file(certFile)}.Config(s.Address)
	return err
}
