// Package pki creates the certificates for a cluster that exists for hours.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime exceeds the lifetime of any testbed. skew allows for an inaccurate clock.
const (
	lifetime = 365 * 24 * time.Hour
	skew     = time.Hour
)

// Pair is a certificate and its key in PEM format.
type Pair struct {
	Certificate, Key []byte
}

// Authority signs certificates.
type Authority struct {
	Pair
	certificate *x509.Certificate
	key         crypto.Signer
}

// Request describes the subject of a certificate, which is valid for clients and servers.
type Request struct {
	// Name and Groups are the user name and groups that Kubernetes sees.
	Name   string
	Groups []string
	// Hosts are the names and addresses of a server.
	Hosts []string
}

// NewAuthority creates a self-signed authority.
func NewAuthority(name string) (*Authority, error) {
	template, err := newTemplate(name)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(pair.Certificate)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing the authority's certificate: %w", err)
	}
	return &Authority{Pair: pair, certificate: certificate, key: key}, nil
}

// Issue creates a key and a certificate for it.
func (a *Authority) Issue(request Request) (Pair, error) {
	template, err := newTemplate(request.Name)
	if err != nil {
		return Pair{}, err
	}
	template.Subject.Organization = request.Groups
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	for _, host := range request.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	return sign(template, a.certificate, key, a.key)
}

// NewKeyPair creates the keys for signing service account tokens. Certificate is the public key.
func NewKeyPair() (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, fmt.Errorf("encoding a public key: %w", err)
	}
	private, err := encodeKey(key)
	return Pair{Certificate: encode("PUBLIC KEY", public), Key: private}, err
}

func newTemplate(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("generating a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(lifetime),
	}, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a key: %w", err)
	}
	return key, nil
}

func sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer) (Pair, error) {
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	private, err := encodeKey(key)
	return Pair{Certificate: encode("CERTIFICATE", raw), Key: private}, err
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return encode("EC PRIVATE KEY", raw), nil
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}
