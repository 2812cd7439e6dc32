package app

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/controller/elasticjob"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=manager-role,fileName=manager.yaml paths=. paths=../controller/... output:rbac:dir=../../../charts/elastic-operator/files/rbac

// addControllers adds everything that runs in the manager.
func addControllers(ctx context.Context, mgr ctrl.Manager, o *Options) error {
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
