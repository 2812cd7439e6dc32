package app

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/rescheduler/internal/controller/rescheduling"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update
// +kubebuilder:rbac:groups="",resources=secrets,namespace=system,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=rescheduler-webhook-server-cert,namespace=system,verbs=get;update
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=rescheduler-mutating-webhook-configuration,verbs=get;update

// Run runs the manager until ctx is done.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	parts := &parts{}
	mgr, err := bootstrap.New(cluster, &o.Options, bootstrap.Setup{
		Program: "rescheduler", Scheme: NewScheme(), Cache: rescheduling.CacheOptions(o.Rescheduling.Namespaces...),
		Webhooks: func(mgr ctrl.Manager) error { return parts.addWebhooks(mgr, o) },
	})
	if err != nil {
		return err
	}
	if err := parts.add(ctx, mgr, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// NewScheme returns the kinds that are read as typed objects. Owners may be of any kind.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	return scheme
}
