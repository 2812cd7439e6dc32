package app

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/controller/appwrapper"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/webhook"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=manager-role,fileName=manager.yaml paths=. paths=../controller/... paths=../webhook/... output:rbac:dir=../../../charts/appwrapper-controller/files/rbac
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen webhook paths=../webhook/... output:webhook:dir=../../../charts/appwrapper-controller/files/webhook

// addControllers adds everything that runs in the manager.
func addControllers(ctx context.Context, mgr ctrl.Manager, o *Options) error {
	if err := appwrapper.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("adding indexes: %w", err)
	}
	wrapped, err := cache.New(mgr.GetConfig(), appwrapper.WrappedCacheOptions(mgr.GetScheme(), mgr.GetRESTMapper()))
	if err != nil {
		return fmt.Errorf("preparing the cache of wrapped objects: %w", err)
	}
	if err := mgr.Add(wrapped); err != nil {
		return fmt.Errorf("adding the cache of wrapped objects: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("preparing discovery: %w", err)
	}
	if err := o.Registry.Register(appwrapper.NewQuotaCollector(mgr.GetClient())); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	appWrappers := appwrapper.New(appwrapper.Options{
		Client:    mgr.GetClient(),
		Live:      mgr.GetAPIReader(),
		Wrapped:   wrapped,
		Discovery: kinds,
		Recorder:  mgr.GetEventRecorder(appwrapper.Name),
		Reviews:   o.reviews(),
		Metrics:   appwrapper.NewMetrics(o.Registry),
		Clock:     clock.RealClock{},
		Config:    o.AppWrapper,
	})
	if err := appWrappers.Register(mgr, o.Workers); err != nil {
		return fmt.Errorf("adding the %s controller: %w", appwrapper.Name, err)
	}
	return nil
}

// addWebhooks adds the webhooks that the manager serves.
func addWebhooks(mgr ctrl.Manager, o *Options) error {
	if err := webhook.Register(mgr, o.AppWrapper, o.reviews()); err != nil {
		return fmt.Errorf("adding the AppWrapper webhooks: %w", err)
	}
	return nil
}
