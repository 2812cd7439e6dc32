package bootstrap

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// What the webhook server reads.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
)

// addCertificates returns a channel that is closed when the folder holds a certificate and, if it is our own, the webhook
// configurations trust it.
func (o *Options) addCertificates(mgr ctrl.Manager) (ready chan struct{}, err error) {
	ready = make(chan struct{})
	if !o.Certificates.Internal {
		return ready, mgr.Add(everywhere(func(ctx context.Context) error {
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

// rotator writes the Secret; it is brought into the folder, and the webhook server reads it again when it changes. All
// replicas run it, since all serve webhooks; whoever writes first wins.
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
		r.ExtraDNSNames = []string{o.Webhook.Host} // webhooks that are called by a URL, as outside of a cluster
	}
	for _, name := range c.Validating {
		r.Webhooks = append(r.Webhooks, rotator.WebhookInfo{Name: name, Type: rotator.Validating})
	}
	for _, name := range c.Mutating {
		r.Webhooks = append(r.Webhooks, rotator.WebhookInfo{Name: name, Type: rotator.Mutating})
	}
	return r
}

// requireSecret turns the rotator's retries into one clear error.
func (o *Options) requireSecret(mgr ctrl.Manager) error {
	key := types.NamespacedName{Namespace: o.Certificates.Namespace, Name: o.Certificates.SecretName}
	err := mgr.GetAPIReader().Get(context.Background(), key, &corev1.Secret{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no Secret %s to keep the webhook certificate in: create it empty, or give certificates by --%s", key, flagWebhookCertDir)
	}
	if err != nil {
		return fmt.Errorf("reading the Secret of the webhook certificate: %w", err)
	}
	return nil
}

// waitForCertificate looks once a second: folders of Secrets are swapped as a whole, which file watches miss.
func waitForCertificate(ctx context.Context, folder string, ready chan<- struct{}) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if _, err := os.Stat(filepath.Join(folder, certificateFile)); err == nil {
			close(ready)
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// everywhere is a task of all replicas, not only of the leader.
type everywhere manager.RunnableFunc

func (e everywhere) Start(ctx context.Context) error { return e(ctx) }
func (everywhere) NeedLeaderElection() bool          { return false }
