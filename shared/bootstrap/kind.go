package bootstrap

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
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
	var problem error
	err := wait.PollUntilContextTimeout(ctx, kindRetry, patience, true, func(context.Context) (bool, error) {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case err != nil && problem == nil:
			log.Info("The API server does not serve the kind, waiting for its custom resource definition", "patience", patience.String(), "reason", err.Error())
		case err == nil && problem != nil:
			log.Info("The API server serves the kind now", "waited", time.Since(begun).Round(time.Millisecond).String())
		}
		problem = err
		return err == nil, nil
	})
	if err != nil && ctx.Err() == nil {
		return notServed(kind, patience, problem)
	}
	return err
}

func notServed(kind schema.GroupVersionKind, patience time.Duration, err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the API server did not serve kind %s of %s within %s: install its CustomResourceDefinition first",
			kind.Kind, kind.GroupVersion(), patience)
	}
	return fmt.Errorf("discovering kind %s of %s: %w", kind.Kind, kind.GroupVersion(), err)
}
