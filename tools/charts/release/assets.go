package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checksums is the signed file, in the format of sha256sum.
const checksums = "checksums.txt"

// addPlugin writes an archive with `kubectl holdfast` and the license for each architecture, and the manifest for Krew.
func (r *release) addPlugin(ctx context.Context) error {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	platforms := ""
	for _, arch := range r.architectures {
		content, err := r.program(ctx, plugin, arch)
		if err != nil {
			return err
		}
		var archive bytes.Buffer
		zipped := gzip.NewWriter(&archive)
		w := tar.NewWriter(zipped)
		if err := errors.Join(
			addFile(w, plugin.name, 0o755, content, r.created), addFile(w, "LICENSE", 0o644, license, r.created), w.Close(), zipped.Close(),
		); err != nil {
			return fmt.Errorf("archiving %s: %w", plugin.name, err)
		}
		name := fmt.Sprintf("%s_%s_linux_%s.tar.gz", plugin.name, r.version, arch)
		if err := os.WriteFile(filepath.Join(r.output, name), archive.Bytes(), 0o644); err != nil {
			return err
		}
		platforms += fmt.Sprintf(krewPlatform, arch, r.version, name, sha256.Sum256(archive.Bytes()))
	}
	return os.WriteFile(filepath.Join(r.output, "krew.yaml"), []byte(fmt.Sprintf(krewManifest, r.version)+platforms), 0o644)
}

const krewManifest = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: holdfast
spec:
  version: %s
  homepage: ` + source + `
  shortDescription: Show whether training jobs run, and why not
  description: |
    Shows the state, the restarts and the lost time of training jobs that Holdfast keeps running:
    JobSets, ElasticJobs, AppWrappers and pods that the rescheduler moves. It only reads.
  platforms:
`

const krewPlatform = `    - selector: {matchLabels: {os: linux, arch: %s}}
      uri: ` + source + `/releases/download/%s/%s
      sha256: %x
      bin: kubectl-holdfast
`

// sum writes the checksums of all files of the release, except for the image layout. The digests of the images are in
// images.txt.
func (r *release) sum() error {
	entries, err := os.ReadDir(r.output) // sorted by name
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.output, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return os.WriteFile(filepath.Join(r.output, checksums), []byte(text.String()), 0o644)
}

// sign writes the signature of the checksums, and the public key, in formats that openssl and `cosign verify-blob`
// accept.
func (r *release) sign(keyFile string) error {
	key, err := signingKey(keyFile)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(r.output, checksums))
	if err != nil {
		return err
	}
	digest := sha256.Sum256(content)
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		return fmt.Errorf("signing %s: %w", checksums, err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encoding the public key: %w", err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(r.output, checksums+".sig"), []byte(base64.StdEncoding.EncodeToString(signature)), 0o644),
		os.WriteFile(filepath.Join(r.output, "holdfast.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644),
	)
}

// signingKey reads an ECDSA key in PKCS #8 format. If no file is given, it generates a key, for a snapshot.
func signingKey(file string) (*ecdsa.PrivateKey, error) {
	if file == "" {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("signing key %s is not in PEM format", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing signing key %s: %w", file, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("signing key %s is not an ECDSA key", file)
	}
	return key, nil
}
