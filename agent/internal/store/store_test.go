package store

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/testing/workers"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// certificate writes a self-signed certificate, which is also its own CA, and its key.
func certificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return write(t, dir, "tls.crt", "CERTIFICATE", der), write(t, dir, "tls.key", "PRIVATE KEY", pkcs8)
}

func write(t *testing.T, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func ask(t *testing.T, c config.Store) error {
	t.Helper()
	s, err := Open(c, "test")
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Observe(t.Context(), "uid", rounds.Slot{}).Err
}

// The server and the agent verify each other's certificate.
func TestMutualTLS(t *testing.T) {
	cert, key := certificate(t, "server")
	mine, mineKey := certificate(t, "worker")
	address := workers.Redis(t, "--port", "0", "--tls-port", workers.Port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", mine)
	full := config.Store{Address: address, TLS: valkey.TLSFiles{CA: cert, Cert: mine, Key: mineKey}}
	if err := ask(t, full); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("with both certificates: %v", err)
	}
	for name, change := range map[string]func(*config.Store){
		"without our certificate": func(c *config.Store) { c.TLS.Cert, c.TLS.Key = "", "" },
		"with another CA":         func(c *config.Store) { c.TLS.CA = mine },
		"without TLS":             func(c *config.Store) { c.TLS.CA = "" },
	} {
		c := full
		change(&c)
		if err := ask(t, c); err == nil || errors.Is(err, coordination.ErrNoGroup) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenRejectsAnInvalidCA(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ask(t, config.Store{Address: "127.0.0.1:1", TLS: valkey.TLSFiles{CA: path}}); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("error %v", err)
	}
}
