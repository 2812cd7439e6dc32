package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
)

func TestIssuedCertificatesServeClientsAndServers(t *testing.T) {
	ca, err := NewAuthority("testbed")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(Request{Name: "system:node:node-1", Groups: []string{"system:nodes"}, Hosts: []string{"10.88.1.1", "node-1"}})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	leaf := parsed.Leaf
	if leaf.Subject.CommonName != "system:node:node-1" || leaf.Subject.Organization[0] != "system:nodes" {
		t.Errorf("subject %v", leaf.Subject)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.Certificate)
	for _, host := range []string{"10.88.1.1", "node-1"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("as server %s: %v", host, err)
		}
	}
	client := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := leaf.Verify(client); err != nil {
		t.Errorf("as client: %v", err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "node-2"}); err == nil {
		t.Error("it is valid for a host that it was not issued for")
	}
}

func TestStoreKeepsItsCertificates(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	first, err := store.Authority("ca")
	if err != nil {
		t.Fatal(err)
	}
	again, err := store.Authority("ca")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Certificate, again.Certificate) {
		t.Fatal("the authority was recreated")
	}
	pair, err := store.Issue("server", again, Request{Name: "server", Hosts: []string{"localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(first.Certificate)
	parsed, err := tls.LoadX509KeyPair(store.Certificate("server"), store.Key("server"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsed.Leaf.Verify(x509.VerifyOptions{Roots: roots}); err != nil {
		t.Errorf("a certificate signed by the reloaded authority is invalid: %v", err)
	}
	if same, err := store.Issue("server", again, Request{Name: "other"}); err != nil || !bytes.Equal(same.Key, pair.Key) {
		t.Errorf("the pair was recreated (%v)", err)
	}
}

func TestAnIncompletePairIsReplaced(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	if err := os.WriteFile(store.Key("sa"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	pair, err := store.KeyPair("sa")
	if err != nil {
		t.Fatal(err)
	}
	if kept, _ := os.ReadFile(store.Key("sa")); !bytes.Equal(kept, pair.Key) {
		t.Error("the kept key does not belong to the public one")
	}
	if info, err := os.Stat(store.Key("sa")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is readable by others (%v, %v)", info.Mode(), err)
	}
}
