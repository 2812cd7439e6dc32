package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
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

// Run manages ElasticJobs until ctx ends. It fails at once if the cluster does not know ElasticJobs.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	mgr, err := bootstrap.New(cluster, &o.Options, bootstrap.Setup{
		Program: "elastic-operator", Scheme: NewScheme(), Cache: elasticjob.CacheOptions(),
	})
	if err != nil {
		return err
	}
	if err := requireCRD(mgr.GetRESTMapper()); err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// NewScheme knows the kinds that the manager reads and writes.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// requireCRD turns an endless retry of the caches into one clear error.
func requireCRD(mapper meta.RESTMapper) error {
	kind := v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster does not know ElasticJobs of %s: install the custom resource definition first", v1alpha1.GroupVersion)
	}
	if err != nil {
		return fmt.Errorf("looking for the ElasticJob definition: %w", err)
	}
	return nil
}
