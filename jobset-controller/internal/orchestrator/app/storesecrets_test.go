package app

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPasswordIsRandom(t *testing.T) {
	first, err := generatePassword()
	if err != nil {
		t.Fatal(err)
	}
	second, err := generatePassword()
	if err != nil {
		t.Fatal(err)
	}
	if string(first[passwordKey]) == string(second[passwordKey]) || len(first[passwordKey]) < 48 {
		t.Errorf("the passwords are %s and %s", first[passwordKey], second[passwordKey])
	}
}

// The certificate is valid for exactly the names by which pods may reach the store.
func TestStoreCertificate(t *testing.T) {
	data, err := generateCertificate("valkey.holdfast.svc:6379")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data["ca.crt"]) {
		t.Fatal("ca.crt has no certificate")
	}
	for name, want := range map[string]bool{
		"valkey": true, "valkey.holdfast": true, "valkey.holdfast.svc": true, "valkey.holdfast.svc.cluster.local": true,
		"holdfast": false, "other.holdfast.svc": false,
	} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); (err == nil) != want {
			t.Errorf("%s: valid %v, want %v: %v", name, err == nil, want, err)
		}
	}
	if years := pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore).Hours() / 24 / 365; years < 10 {
		t.Errorf("it is valid for %.1f years, and nothing renews it", years)
	}
}

func TestHostNames(t *testing.T) {
	for address, want := range map[string][]string{
		"valkey.ns.svc:6379":    {"valkey.ns.svc", "valkey", "valkey.ns", "valkey.ns.svc.cluster.local"},
		"redis.example.com:638": {"redis.example.com"},
		"127.0.0.1:6379":        {"127.0.0.1"},
	} {
		if diff := cmp.Diff(want, hostNames(address)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
	}
}
