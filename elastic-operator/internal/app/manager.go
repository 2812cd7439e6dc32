// Package app sets up the manager of the elastic operator: its flags, its configuration file, its cache and its controller.
package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/controller/elasticjob"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=manager-role,fileName=manager.yaml paths=. paths=../controller/... output:rbac:dir=../../../charts/elastic-operator/files/rbac

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update

// Run manages ElasticJobs until ctx is done. It fails if the API server does not serve ElasticJobs in time.
func (o *Options) Run(ctx context.Context, cluster *rest.Config) error {
	return bootstrap.Manage(ctx, cluster, &o.Options, bootstrap.Setup{
		Program: "elastic-operator", Scheme: NewScheme(), Cache: elasticjob.CacheOptions(),
	}, o.addControllers, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
}

// NewScheme returns a scheme with the kinds that the manager reads and writes.
func NewScheme() *runtime.Scheme { return bootstrap.NewScheme(v1alpha1.AddToScheme) }

// addControllers adds everything that runs in the manager.
func (o *Options) addControllers(ctx context.Context, mgr ctrl.Manager) error {
	if err := elasticjob.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("adding indexes: %w", err)
	}
	jobs := elasticjob.New(elasticjob.Options{
		Client:          mgr.GetClient(),
		Live:            mgr.GetAPIReader(),
		Recorder:        mgr.GetEventRecorder(elasticjob.Name),
		Metrics:         elasticjob.NewMetrics(o.Registry),
		Clock:           clock.RealClock{},
		RendezvousImage: o.RendezvousImage,
		Agents:          o.Agents,
		Rendezvous:      elasticjob.HTTPRendezvous(),
	})
	if err := jobs.Register(mgr, o.Workers); err != nil {
		return fmt.Errorf("adding the %s controller: %w", elasticjob.Name, err)
	}
	return nil
}
