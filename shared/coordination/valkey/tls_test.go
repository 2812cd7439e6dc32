package valkey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// pair writes a self-signed certificate for a name and for 127.0.0.1, and its key.
func pair(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
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
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writeFile(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	writeFile(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})))
	return cert, key
}

// newTLSServer returns a server that only serves TLS, with the given certificate.
func newTLSServer(t *testing.T, cert, key string) *server {
	t.Helper()
	s := prepareServer(t)
	_, port, _ := net.SplitHostPort(s.address)
	s.args = []string{
		"--port", "0", "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert,
		"--tls-auth-clients", "no",
	}
	secure, err := TLSFiles{CA: cert}.Config()
	if err != nil {
		t.Fatal(err)
	}
	_ = s.admin.Close()
	s.admin = redis.NewClient(&redis.Options{Addr: s.address, Protocol: 2, MaxRetries: -1, DialerRetries: 1, TLSConfig: secure})
	s.start()
	return s
}

func TestServerCertificateIsChecked(t *testing.T) {
	cert, key := pair(t, "store.ns.svc")
	other, _ := pair(t, "store.ns.svc")
	server := newTLSServer(t, cert, key)
	for name, tc := range map[string]struct {
		files TLSFiles
		want  string // part of the error; empty if there is none
	}{
		"the address itself":         {TLSFiles{CA: cert}, ""},
		"a name in the certificate":  {TLSFiles{CA: cert, ServerName: "store.ns.svc"}, ""},
		"the name of another server": {TLSFiles{CA: cert, ServerName: "store.other.svc"}, "store.other.svc"},
		"an unknown authority":       {TLSFiles{CA: other}, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := server.store(t, func(o *Options) { o.TLS = tc.files }).Tidy(t.Context())
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := server.store(t).Tidy(t.Context()); err == nil {
		t.Error("the server accepts a connection without TLS")
	}
}

// If the store's CA is replaced, running programs can connect once they find the new CA in their file.
func TestNewCAIsReadForTheNextConnection(t *testing.T) {
	cert, key := pair(t, "store")
	before, _ := pair(t, "store")
	server := newTLSServer(t, cert, key)
	file := filepath.Join(t.TempDir(), "ca.crt")
	writeFile(t, file, readFile(t, before))
	w := watchGroup(t, server.store(t, func(o *Options) { o.TLS = TLSFiles{CA: file} }), uid)
	if first := w.awaitCount(t, 1)[0]; !isLoss(first) {
		t.Errorf("first observation %+v, want a loss", first)
	}
	writeFile(t, file, readFile(t, cert))
	if second := w.awaitCount(t, 2)[1]; !second.Read {
		t.Errorf("second observation %+v, want a read", second)
	}
}

func TestInvalidTLSFiles(t *testing.T) {
	none := filepath.Join(t.TempDir(), "ca")
	writeFile(t, none, "x")
	for name, tc := range map[string]struct {
		files TLSFiles
		want  string
	}{
		"a certificate without its key":   {TLSFiles{CA: none, Cert: "c"}, "go together"},
		"a certificate without a CA":      {TLSFiles{Cert: "c", Key: "k"}, "TLS requires a CA"},
		"a server name without a CA":      {TLSFiles{ServerName: "s"}, "TLS requires a CA"},
		"a missing CA file":               {TLSFiles{CA: none + "2"}, "no such file"},
		"a CA file without a certificate": {TLSFiles{CA: none}, "no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(Options{Address: "store:6379", TLS: tc.files}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if c, err := (TLSFiles{}).Config(); c != nil || err != nil {
		t.Errorf("without files: %v, %v", c, err)
	}
}
