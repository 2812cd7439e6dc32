// Package app sets up the manager of the Kueue integration: its flags, its cache and its controller.
package app

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
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
	return bootstrap.Manage(ctx, cluster, &o.Options, bootstrap.Setup{
		Program: "elastic-kueue", Scheme: NewScheme(), Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	}, o.Integration.Register, integration.GVK, kueue.SchemeGroupVersion.WithKind("Workload"))
}

// NewScheme returns a scheme with the kinds that the manager reads and writes.
func NewScheme() *runtime.Scheme { return bootstrap.NewScheme(v1alpha1.AddToScheme, kueue.AddToScheme) }
