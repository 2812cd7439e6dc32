package tcp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// certificateLife is longer than the lifetime of any pod. Members compare only the fingerprint and ignore the dates.
const certificateLife = 10 * 365 * 24 * time.Hour

// newCertificate returns a self-signed certificate for a relay, and its fingerprint.
func newCertificate() (c tls.Certificate, fingerprint string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, "", fmt.Errorf("generating the relay's key: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certificateLife)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return c, "", fmt.Errorf("generating the relay's certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, fingerprintOf(raw), nil
}

func fingerprintOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func serverTLS(c tls.Certificate) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c}, SessionTicketsDisabled: true}
}

// clientTLS returns a configuration that accepts only the certificate with the given fingerprint.
func clientTLS(fingerprint string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, // VerifyConnection compares the fingerprint
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || fingerprintOf(s.PeerCertificates[0].Raw) != fingerprint {
				return errCertificate
			}
			return nil
		},
	}
}

var errCertificate = errors.New("the certificate does not have the fingerprint that the relay has announced")
