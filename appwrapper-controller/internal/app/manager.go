// Package app sets up the AppWrapper manager: its flags, its configuration file, its caches and its controllers.
package app

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/controller/appwrapper"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

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
	mgr, err := bootstrap.New(cluster, &o.Options, bootstrap.Setup{
		Program: "appwrapper", Scheme: NewScheme(), Cache: appwrapper.CacheOptions(),
		Webhooks: func(mgr ctrl.Manager) error { return addWebhooks(mgr, o) },
	})
	if err != nil {
		return err
	}
	if err := mgr.AwaitKind(ctx, v1beta2.GroupVersion.WithKind(v1beta2.Kind)); err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// NewScheme returns a scheme with the typed kinds that the manager reads and writes. Wrapped kinds are read as unstructured objects and
// need not be registered.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1beta2.AddToScheme(scheme))
	return scheme
}
