// Package app sets up the AppWrapper manager: its flags, its configuration file, its caches and its controllers.
package app

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/controller/appwrapper"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/webhook"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=manager-role,fileName=manager.yaml paths=. paths=github.com/holdfast-project/holdfast/shared/bootstrap paths=../controller/... paths=../webhook/... output:rbac:dir=../../../charts/appwrapper-controller/files/rbac
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen webhook paths=../webhook/... output:webhook:dir=../../../charts/appwrapper-controller/files/webhook

// +kubebuilder:rbac:groups="",resources=secrets,namespace=system,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=appwrapper-webhook-server-cert,namespace=system,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=appwrapper-mutating-webhook-configuration,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=appwrapper-validating-webhook-configuration,verbs=get;update

// Run manages AppWrappers until ctx is done. It fails if the API server does not serve AppWrappers in time. The scheme contains only the
// typed kinds, because wrapped kinds are read as unstructured objects.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	return bootstrap.Manage(ctx, cluster, &o.Options, bootstrap.Setup{
		Program: "appwrapper", Scheme: bootstrap.NewScheme(v1beta2.AddToScheme), Cache: appwrapper.CacheOptions(),
		Indexes:  []bootstrap.Index{appwrapper.AddIndexes},
		Webhooks: func(mgr ctrl.Manager) error { return webhook.Register(mgr, o.AppWrapper, o.reviews()) },
	}, o.addControllers, v1beta2.GroupVersion.WithKind(v1beta2.Kind))
}

func (o *Options) addControllers(_ context.Context, mgr ctrl.Manager) error {
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
	o.Registry.MustRegister(appwrapper.NewQuotaCollector(mgr.GetClient()))
	appWrappers := appwrapper.New(appwrapper.Options{
		Client:    mgr.GetClient(),
		Live:      mgr.GetAPIReader(),
		Wrapped:   wrapped,
		Discovery: kinds,
		Recorder:  mgr.GetEventRecorder(appwrapper.Name),
		Reviews:   o.reviews(),
		Metrics:   appwrapper.NewMetrics(o.Registry),
		Config:    o.AppWrapper,
	})
	return appWrappers.Register(mgr)
}

// leaseName is the name of the upstream controller's Lease, so that only one of the two controllers acts if both run in the same namespace.
// In different namespaces they use different Leases, so stop one before starting the other.
const leaseName = "f134c674.codeflare.dev"

type Options struct {
	bootstrap.Options

	AppWrapper settings.AppWrapper
}

// NewOptions returns the upstream controller's defaults, except that webhooks are off unless --webhooks is set.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults(), AppWrapper: settings.Default()}
	o.Leader.Name = leaseName
	o.ServeWebhooks("appwrapper")
	return o
}

// Complete reads the configuration file. The error lists all invalid settings.
func (o *Options) Complete(set *pflag.FlagSet) error {
	file := Configuration{Config: o.Config(), AppWrapper: &o.AppWrapper} // decoding sets the options
	if o.ConfigFile != "" {
		var err error
		if o.Warnings, err = bootstrap.ReadLooseConfig(o.ConfigFile, set, &file); err != nil {
			return err
		}
	}
	errs := o.Options.Complete(set, file.Config)
	if err := o.AppWrapper.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("appwrapper: %w", err))
	}
	return bootstrap.Join(errs)
}

// reviews returns the Reviews that sign and verify AppWrappers, or nil if the access check is off. If the check is on but the webhooks are
// off, new AppWrappers are not reviewed and their components are not created.
func (o *Options) reviews() *review.Reviews {
	if !o.AppWrapper.UserRBACAdmissionCheck {
		return nil
	}
	return review.With(o.Webhook.CertDir)
}

// Configuration is the content of the file given by --config: the settings shared by all managers, and the section of the upstream operator's
// ConfigMap that defines its behavior. Unknown keys cause a warning and are ignored, because existing files may contain keys from earlier
// versions, and the upstream keys for addresses and certificates.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	AppWrapper *settings.AppWrapper `json:"appwrapper,omitempty"`
}
