package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/kueue/internal/integration"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

//go:generate env GOWORK=off go tool -modfile=../../../../tools/codegen/go.mod controller-gen rbac:roleName=kueue-role,fileName=kueue.yaml paths=. paths=../integration output:rbac:dir=../../../../charts/elastic-operator/files/rbac

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Run integrates ElasticJobs until ctx ends. It fails at once if the cluster does not know them, or Kueue.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	mgr, err := bootstrap.New(cluster, &o.Options, bootstrap.Setup{
		Program: "elastic-kueue", Scheme: NewScheme(), Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return err
	}
	for _, kind := range []schema.GroupVersionKind{integration.GVK, kueue.SchemeGroupVersion.WithKind("Workload")} {
		if err := require(mgr.GetRESTMapper(), kind); err != nil {
			return err
		}
	}
	if err := integration.Register(ctx, mgr, integration.Options{
		WaitForPodsReady: o.WaitForPodsReady, ManageWithoutQueue: o.ManageWithoutQueue, Namespaces: o.Namespaces,
	}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// NewScheme knows the kinds that are read and written.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(kueue.AddToScheme(scheme))
	return scheme
}

// require turns an endless retry of the caches into one clear error.
func require(mapper meta.RESTMapper, kind schema.GroupVersionKind) error {
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster does not know %s of %s: install its custom resource definition first", kind.Kind, kind.GroupVersion())
	}
	if err != nil {
		return fmt.Errorf("looking for the definition of %s: %w", kind.Kind, err)
	}
	return nil
}
