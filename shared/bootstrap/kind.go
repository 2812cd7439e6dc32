package bootstrap

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// kindPatience is less than a kubelet gives a program that does not answer its probes yet.
	kindPatience = 30 * time.Second
	kindRetry    = 200 * time.Millisecond
)

// AwaitKind returns when the API server serves a kind. One whose definition came a moment ago, as with an installation, is not
// served at once. Without it the caches would try for ever: after Options.KindPatience there is one clear error instead.
func (m *Manager) AwaitKind(ctx context.Context, kind schema.GroupVersionKind) error {
	return awaitKind(ctx, m.GetRESTMapper(), kind, m.options.KindPatience)
}

func awaitKind(ctx context.Context, mapper meta.RESTMapper, kind schema.GroupVersionKind, patience time.Duration) error {
	log := ctrl.Log.WithName("setup").WithValues("kind", kind.String())
	begun := time.Now()
	for told := false; ; {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			if told {
				log.Info("The API server serves the kind now", "waited", time.Since(begun).Round(time.Millisecond).String())
			}
			return nil
		}
		if time.Since(begun) >= patience {
			return notServed(kind, patience, err)
		}
		if !told {
			log.Info("The API server does not serve the kind; waiting for its custom resource definition", "patience", patience.String(), "reason", err.Error())
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(kindRetry):
		}
	}
}

func notServed(kind schema.GroupVersionKind, patience time.Duration, err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster does not know the kind %s of %s, nor did within %s: install the custom resource definition first",
			kind.Kind, kind.GroupVersion(), patience)
	}
	return fmt.Errorf("looking for the kind %s of %s: %w", kind.Kind, kind.GroupVersion(), err)
}
