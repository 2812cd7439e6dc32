package pki

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Store keeps certificates in a directory and creates missing ones.
type Store struct {
	Dir string
}

// Authority returns the authority stored in NAME.crt and NAME.key.
func (s Store) Authority(name string) (*Authority, error) {
	var made *Authority
	pair, err := s.ensure(name, ".crt", func() (Pair, error) {
		var err error
		if made, err = NewAuthority(name); err != nil {
			return Pair{}, err
		}
		return made.Pair, nil
	})
	if err != nil || made != nil {
		return made, err
	}
	return parseAuthority(pair)
}

// Issue returns the certificate stored in NAME.crt and NAME.key.
func (s Store) Issue(name string, authority *Authority, request Request) (Pair, error) {
	return s.ensure(name, ".crt", func() (Pair, error) { return authority.Issue(request) })
}

// KeyPair returns the keys stored in NAME.pub and NAME.key.
func (s Store) KeyPair(name string) (Pair, error) {
	return s.ensure(name, ".pub", NewKeyPair)
}

// Certificate returns the path of a certificate in the store.
func (s Store) Certificate(name string) string { return filepath.Join(s.Dir, name+".crt") }

// PublicKey returns the path of a public key in the store.
func (s Store) PublicKey(name string) string { return filepath.Join(s.Dir, name+".pub") }

// Key returns the path of a private key in the store.
func (s Store) Key(name string) string { return filepath.Join(s.Dir, name+".key") }

// ensure reads the pair or creates it. It writes the key first, so that a pair is complete if its public half
// exists.
func (s Store) ensure(name, suffix string, produce func() (Pair, error)) (Pair, error) {
	public := filepath.Join(s.Dir, name+suffix)
	certificate, err := os.ReadFile(public)
	if errors.Is(err, fs.ErrNotExist) {
		return s.create(name, public, produce)
	}
	if err != nil {
		return Pair{}, fmt.Errorf("reading a certificate: %w", err)
	}
	key, err := os.ReadFile(s.Key(name))
	if err != nil {
		return Pair{}, fmt.Errorf("reading a key: %w", err)
	}
	return Pair{Certificate: certificate, Key: key}, nil
}

func (s Store) create(name, public string, produce func() (Pair, error)) (Pair, error) {
	pair, err := produce()
	if err != nil {
		return Pair{}, err
	}
	if err := write(s.Key(name), pair.Key, 0o600); err != nil {
		return Pair{}, err
	}
	return pair, write(public, pair.Certificate, 0o644)
}

func write(path string, content []byte, mode os.FileMode) error {
	if err := os.WriteFile(path+".new", content, mode); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	return os.Rename(path+".new", path)
}

func parseAuthority(pair Pair) (*Authority, error) {
	certificateBlock, _ := pem.Decode(pair.Certificate)
	keyBlock, _ := pem.Decode(pair.Key)
	if certificateBlock == nil || keyBlock == nil {
		return nil, errors.New("the authority's files contain no PEM data")
	}
	certificate, err := x509.ParseCertificate(certificateBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing the authority's certificate: %w", err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing the authority's key: %w", err)
	}
	return &Authority{Pair: pair, certificate: certificate, key: key}, nil
}
