package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

func (o *Options) keeper(mgr ctrl.Manager, store *valkey.Store, known *owners.Lister) *credentials.Keeper {
	k := &credentials.Keeper{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Users: store, Clock: clock.RealClock{},
		Recorder: mgr.GetEventRecorder("holdfast-orchestrator"),
		Owners:   known,
		Ages:     credentials.Ages{Max: o.ValkeyPasswordMaxAge, Overlap: o.ValkeyPasswordOverlap},
	}
	if file := o.ValkeyTLS.CA; file != "" {
		k.CA = func() ([]byte, error) {
			pem, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading the store's CA for the agents: %w", err)
			}
			return pem, nil
		}
	}
	return k
}

// restoreUsers only logs errors: the reconcile of each JobSet tries again.
func restoreUsers(keeper *credentials.Keeper) func(context.Context) {
	return func(ctx context.Context) {
		if err := keeper.Restore(ctx); err != nil && !errors.Is(err, context.Canceled) {
			log.FromContext(ctx).Error(err, "restoring the store's users failed")
		}
	}
}
