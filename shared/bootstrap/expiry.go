package bootstrap

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// expiry collects, when it is asked, when the certificate in a folder ends: the one that the webhook server serves, whoever made it.
type expiry struct {
	program, folder string
	desc            *prometheus.Desc
}

// registerExpiry takes the place of an earlier manager's of this process, which has another folder.
func registerExpiry(registry prometheus.Registerer, program, folder string) error {
	own := expiry{program, folder, meter.Desc(series.WebhookCertificateEnd)}
	err := registry.Register(own)
	var there prometheus.AlreadyRegisteredError
	if errors.As(err, &there) {
		registry.Unregister(there.ExistingCollector)
		err = registry.Register(own)
	}
	if err != nil {
		return fmt.Errorf("registering the end of the webhook certificate: %w", err)
	}
	return nil
}

func (e expiry) Describe(out chan<- *prometheus.Desc) { out <- e.desc }

// Collect has no value before the first certificate is there.
func (e expiry) Collect(out chan<- prometheus.Metric) {
	end, err := certificateEnd(filepath.Join(e.folder, certificateFile))
	if err != nil {
		return
	}
	out <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(end.Unix()), e.program)
}

// certificateEnd is that of the first certificate of a file, which is the server's own; authorities follow.
func certificateEnd(file string) (time.Time, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return time.Time{}, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return time.Time{}, fmt.Errorf("%s holds no certificate", file)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading %s: %w", file, err)
	}
	return certificate.NotAfter, nil
}
