package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/shared/series"
)

// certificateUntil writes a certificate that expires at the given time, followed by a CA certificate that expires later.
func certificateUntil(t *testing.T, folder string, end time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var content []byte
	for _, until := range []time.Time{end, end.Add(time.Hour)} {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-time.Hour), NotAfter: until}
		raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})...)
	}
	if err := os.WriteFile(filepath.Join(folder, certificateFile), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func served(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != series.WebhookCertificateEnd.Name {
			t.Errorf("%s is served", family.GetName())
		}
		for _, metric := range family.GetMetric() {
			found[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
		}
	}
	return found
}

func TestCertificateExpiryMetric(t *testing.T) {
	registry, folder := prometheus.NewRegistry(), t.TempDir()
	if err := registerExpiry(registry, "jobset", folder); err != nil {
		t.Fatal(err)
	}
	if got := served(t, registry); len(got) != 0 {
		t.Errorf("without a certificate, the metric is %v", got)
	}
	end := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for range 2 { // the certificate is renewed
		certificateUntil(t, folder, end)
		if got := served(t, registry); got["jobset"] != float64(end.Unix()) {
			t.Errorf("the metric is %v, want %d", got, end.Unix())
		}
		end = end.AddDate(1, 0, 0)
	}
	if err := os.WriteFile(filepath.Join(folder, certificateFile), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := served(t, registry); len(got) != 0 {
		t.Errorf("with an invalid certificate, the metric is %v", got)
	}
}

// Tests start several managers in one process, each with its own folder. The metric reports the last manager's certificate.
func TestCertificateExpiryOfLaterManager(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, folder := range []string{t.TempDir(), t.TempDir()} {
		if err := registerExpiry(registry, "jobset", folder); err != nil {
			t.Fatal(err)
		}
		certificateUntil(t, folder, time.Unix(int64(len(folder)), 0))
		if got := served(t, registry); len(got) != 1 {
			t.Errorf("the metric is %v", got)
		}
	}
}
