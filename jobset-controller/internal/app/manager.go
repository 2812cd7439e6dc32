package app

import (
	"context"
	"crypto/tls"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/jobset"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;list;watch;create;update;patch

// leaseName is that of the published controller, so that the two never act at the same time.
const leaseName = "6d4f6a47.jobset.x-k8s.io"

// Run manages JobSets until ctx ends.
func Run(ctx context.Context, cluster *rest.Config, o Options) error {
	mgr, err := NewManager(cluster, o)
	if err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// NewManager makes a manager with nothing in it but health checks. It fails if the cluster does not know JobSets.
func NewManager(cluster *rest.Config, o Options) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(o.limit(cluster), managerOptions(o))
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	if err := requireCRD(mgr.GetRESTMapper()); err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the readiness check: %w", err)
	}
	return mgr, nil
}

func managerOptions(o Options) ctrl.Options {
	return ctrl.Options{
		Scheme:                        NewScheme(),
		Cache:                         jobset.CacheOptions(),
		Metrics:                       metricsOptions(o),
		HealthProbeBindAddress:        o.HealthAddress,
		Controller:                    config.Controller{SkipNameValidation: ptr.To(true)}, // controllers.go shows that names are unique
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       o.LeaseNamespace,
		LeaderElectionReleaseOnCancel: true, // the process ends when the manager does
	}
}

// NewScheme knows the kinds that the manager reads and writes.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha2.AddToScheme(scheme))
	return scheme
}

func metricsOptions(o Options) server.Options {
	options := server.Options{BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure, TLSOpts: []func(*tls.Config){onlyHTTP1}}
	if o.MetricsSecure {
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return options
}

// onlyHTTP1 turns HTTP/2 off: its rapid reset lets a client exhaust the endpoint.
func onlyHTTP1(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }

// requireCRD turns an endless retry of the caches into one clear error.
func requireCRD(mapper meta.RESTMapper) error {
	kind := v1alpha2.GroupVersion.WithKind("JobSet")
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster does not know JobSets of %s: install the custom resource definition first", v1alpha2.GroupVersion)
	}
	if err != nil {
		return fmt.Errorf("looking for the JobSet definition: %w", err)
	}
	return nil
}
