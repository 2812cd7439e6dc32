// Package app sets up the manager of the elastic operator: its flags, its configuration file, its cache and its controller.
package app

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/controller/elasticjob"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update

// Run manages ElasticJobs until ctx is done. It fails if the API server does not serve ElasticJobs in time.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	mgr, err := bootstrap.New(cluster, &o.Options, bootstrap.Setup{
		Program: "elastic-operator", Scheme: NewScheme(), Cache: elasticjob.CacheOptions(),
	})
	if err != nil {
		return err
	}
	if err := mgr.AwaitKind(ctx, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)); err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// NewScheme returns a scheme with the kinds that the manager reads and writes.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}
