// Package app sets up the AppWrapper manager: its flags, its configuration file, its caches and its controllers.
package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/controller/appwrapper"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/webhook"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=manager-role,fileName=manager.yaml paths=. paths=../controller/... paths=../webhook/... output:rbac:dir=../../../charts/appwrapper-controller/files/rbac
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen webhook paths=../webhook/... output:webhook:dir=../../../charts/appwrapper-controller/files/webhook

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update
// +kubebuilder:rbac:groups="",resources=secrets,namespace=system,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=appwrapper-webhook-server-cert,namespace=system,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=appwrapper-mutating-webhook-configuration,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=appwrapper-validating-webhook-configuration,verbs=get;update

// Run manages AppWrappers until ctx is done. It fails if the API server does not serve AppWrappers in time.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	return bootstrap.Manage(ctx, cluster, &o.Options, bootstrap.Setup{
		Program: "appwrapper", Scheme: NewScheme(), Cache: appwrapper.CacheOptions(),
		Webhooks: o.addWebhooks,
	}, o.addControllers, v1beta2.GroupVersion.WithKind(v1beta2.Kind))
}

// NewScheme returns a scheme with the typed kinds that the manager reads and writes. Wrapped kinds are read as unstructured objects and
// need not be registered.
func NewScheme() *runtime.Scheme { return bootstrap.NewScheme(v1beta2.AddToScheme) }

// addControllers adds everything that runs in the manager.
func (o *Options) addControllers(ctx context.Context, mgr ctrl.Manager) error {
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
func (o *Options) addWebhooks(mgr ctrl.Manager) error {
	if err := webhook.Register(mgr, o.AppWrapper, o.reviews()); err != nil {
		return fmt.Errorf("adding the AppWrapper webhooks: %w", err)
	}
	return nil
}
