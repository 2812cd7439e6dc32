package bootstrap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// webhookServer makes the server. It makes its list of paths at its start or with its first path, whichever comes first, and here
// webhooks look at the list while the server starts: so it gets a path before anybody else has it, and answers as without.
func (o *Options) webhookServer(change func(*tls.Config)) webhook.Server {
	server := webhook.NewServer(webhook.Options{
		Host: o.Webhook.Host, Port: o.Webhook.Port, CertDir: o.Webhook.CertDir, TLSOpts: []func(*tls.Config){change},
	})
	server.Register("/", http.NotFoundHandler())
	return server
}

// registerWhenReady registers the webhooks when the certificate is there. The server starts with the first of them, and
// would fail without a certificate.
func registerWhenReady(mgr ctrl.Manager, ready <-chan struct{}, register func(ctrl.Manager) error) error {
	return mgr.Add(everywhere(func(ctx context.Context) error {
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

// certificateCheck fails until the certificate is there.
func certificateCheck(ready <-chan struct{}) healthz.Checker {
	return func(*http.Request) error {
		select {
		case <-ready:
			return nil
		default:
			return errors.New("the webhook certificate is not ready")
		}
	}
}
