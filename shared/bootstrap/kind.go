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
	// kindPatience is shorter than the kubelet's initial probe failures allow.
	kindPatience = 30 * time.Second
	kindRetry    = 200 * time.Millisecond
)

// AwaitKind waits until the API server serves a kind, which takes a moment after its CRD was installed. Without it caches would retry
// forever; after Options.KindPatience this returns a clear error.
func (m *Manager) AwaitKind(ctx context.Context, kind schema.GroupVersionKind) error {
	return awaitKind(ctx, m.GetRESTMapper(), kind, m.options.KindPatience)
}

func awaitKind(ctx context.Context, mapper meta.RESTMapper, kind schema.GroupVersionKind, patience time.Duration) error {
	log := ctrl.Log.WithName("setup").WithValues("kind", kind.String())
	begun := time.Now()
	for logged := false; ; {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			if logged {
				log.Info("The API server serves the kind now", "waited", time.Since(begun).Round(time.Millisecond).String())
			}
			return nil
		}
		if time.Since(begun) >= patience {
			return notServed(kind, patience, err)
		}
		if !logged {
			log.Info("The API server does not serve the kind; waiting for its custom resource definition", "patience", patience.String(), "reason", err.Error())
			logged = true
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
