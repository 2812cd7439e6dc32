// Package app sets up the manager of the Kueue integration: its flags, its cache and its controller.
package app

import (
	"context"

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

// Run integrates ElasticJobs with Kueue until ctx is done. It fails if the API server does not serve both kinds in time.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	mgr, err := bootstrap.New(cluster, &o.Options, bootstrap.Setup{
		Program: "elastic-kueue", Scheme: NewScheme(), Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return err
	}
	for _, kind := range []schema.GroupVersionKind{integration.GVK, kueue.SchemeGroupVersion.WithKind("Workload")} {
		if err := mgr.AwaitKind(ctx, kind); err != nil {
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

// NewScheme returns a scheme with the kinds that the manager reads and writes.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(kueue.AddToScheme(scheme))
	return scheme
}
