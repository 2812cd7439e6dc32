package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Files that the webhook server reads.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// addCertificates returns a channel that is closed once the folder has a certificate and, if that certificate is internal, the webhook
// configurations trust it.
func (o *Options) addCertificates(mgr ctrl.Manager) (ready chan struct{}, err error) {
	ready = make(chan struct{})
	if !o.Certificates.Internal {
		return ready, mgr.Add(Everywhere(func(ctx context.Context) error {
			return waitForCertificate(ctx, o.Webhook.CertDir, ready)
		}))
	}
	if err := o.requireSecret(mgr); err != nil {
		return nil, err
	}
	if err := rotator.AddRotator(mgr, o.rotator(ready)); err != nil {
		return nil, fmt.Errorf("adding the rotation of certificates: %w", err)
	}
	return ready, mgr.Add(o.fetchCertificate(mgr))
}

// rotator returns the rotator that writes the Secret. All replicas run it, because all of them serve webhooks; the first write
// wins.
func (o *Options) rotator(ready chan struct{}) *rotator.CertRotator {
	c := o.Certificates
	r := &rotator.CertRotator{
		SecretKey:      types.NamespacedName{Namespace: c.Namespace, Name: c.SecretName},
		CertDir:        o.Webhook.CertDir,
		CAName:         c.CAName,
		CAOrganization: c.CAName,
		DNSName:        fmt.Sprintf("%s.%s.svc", c.ServiceName, c.Namespace),
		IsReady:        ready,
	}
	if o.Webhook.Host != "" && net.ParseIP(o.Webhook.Host) == nil {
		r.ExtraDNSNames = []string{o.Webhook.Host} // for webhooks called by URL, as when running outside of a cluster
	}
	for _, name := range c.Validating {
		r.Webhooks = append(r.Webhooks, rotator.WebhookInfo{Name: name, Type: rotator.Validating})
	}
	for _, name := range c.Mutating {
		r.Webhooks = append(r.Webhooks, rotator.WebhookInfo{Name: name, Type: rotator.Mutating})
	}
	return r
}

// requireSecret returns a clear error if the Secret does not exist. Without this check, the rotator would retry forever.
func (o *Options) requireSecret(mgr ctrl.Manager) error {
	key := types.NamespacedName{Namespace: o.Certificates.Namespace, Name: o.Certificates.SecretName}
	err := mgr.GetAPIReader().Get(context.Background(), key, &corev1.Secret{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("no Secret %s for the webhook certificate: create it empty, or provide a certificate with --%s", key, flagWebhookCertDir)
	}
	if err != nil {
		return fmt.Errorf("reading the Secret of the webhook certificate: %w", err)
	}
	return nil
}

// waitForCertificate polls once per second, because file watches miss the atomic replacement of mounted Secrets.
func waitForCertificate(ctx context.Context, folder string, ready chan<- struct{}) error {
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) {
		_, err := os.Stat(filepath.Join(folder, certificateFile))
		return err == nil, nil
	})
	if err == nil {
		close(ready)
	}
	return nil
}

const (
	// fetchSoon is the polling interval until the first certificate has been fetched. No webhooks are served before that.
	fetchSoon = time.Second
	// fetchLater is the maximum delay before a renewed certificate is served. The API server trusts its CA immediately.
	fetchLater = time.Minute
)

// fetchCertificate copies the Secret to the folder. A mounted Secret would work, too, but the kubelet takes up to two minutes to mount
// the first certificate, and until then the API server rejects requests that need the webhooks.
func (o *Options) fetchCertificate(mgr ctrl.Manager) Everywhere {
	key := client.ObjectKey{Namespace: o.Certificates.Namespace, Name: o.Certificates.SecretName}
	log := mgr.GetLogger().WithName("certificates").WithValues("secret", key.String(), "folder", o.Webhook.CertDir)
	return func(ctx context.Context) error {
		for pause := fetchSoon; ; {
			var secret corev1.Secret
			err := mgr.GetAPIReader().Get(ctx, key, &secret)
			if err == nil {
				err = writeCertificate(o.Webhook.CertDir, secret.Data)
			}
			switch {
			case readOnly(err):
				log.Info("The certificate folder is read-only, using the mounted certificate")
				return nil
			case err == nil:
				pause = fetchLater
			case !errors.Is(err, errNoCertificate) && ctx.Err() == nil:
				log.Error(err, "Writing the certificate failed, retrying")
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
		}
	}
}

// readOnly reports whether err shows that the folder is a mounted Secret, as in the upstream installation.
func readOnly(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

var errNoCertificate = errors.New("the Secret has no certificate yet")

// writeCertificate writes the key first, because readers wait for the certificate.
func writeCertificate(folder string, data map[string][]byte) error {
	if len(data[certificateFile]) == 0 || len(data[keyFile]) == 0 {
		return errNoCertificate
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("creating the certificate folder: %w", err)
	}
	for _, name := range []string{keyFile, certificateFile} {
		if err := ReplaceFile(filepath.Join(folder, name), data[name]); err != nil {
			return fmt.Errorf("writing the certificate: %w", err)
		}
	}
	return nil
}

// ReplaceFile replaces a file atomically if its content has changed.
func ReplaceFile(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// expiry is a collector for the expiry time of the webhook server's certificate. It reads the file on each scrape.
type expiry struct {
	program, folder string
	desc            *prometheus.Desc
}

// registerExpiry registers the collector. It replaces the collector of any earlier manager in this process, because that collector reads a
// different folder.
func registerExpiry(registry prometheus.Registerer, program, folder string) error {
	own := expiry{program, folder, meter.Desc(series.WebhookCertificateEnd)}
	registry.Unregister(own) // finds the earlier one by the name of the metric
	if err := registry.Register(own); err != nil {
		return fmt.Errorf("registering the expiry of the webhook certificate: %w", err)
	}
	return nil
}

func (e expiry) Describe(out chan<- *prometheus.Desc) { out <- e.desc }

// Collect reports no value until there is a certificate.
func (e expiry) Collect(out chan<- prometheus.Metric) {
	certificates, err := cert.CertsFromFile(filepath.Join(e.folder, certificateFile)) // the first one is the server's own
	if err != nil {
		return
	}
	out <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(certificates[0].NotAfter.Unix()), e.program)
}

// registerWhenReady registers the webhooks once there is a certificate. The server starts when the first webhook is registered, and would
// fail without a certificate.
func registerWhenReady(mgr ctrl.Manager, ready <-chan struct{}, register func(ctrl.Manager) error) error {
	return mgr.Add(Everywhere(func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-ready:
		}
		if err := register(mgr); err != nil {
			return fmt.Errorf("adding webhooks: %w", err)
		}
		return nil
	}))
}
