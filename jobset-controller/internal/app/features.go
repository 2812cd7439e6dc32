package app

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/jobset"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// Feature gates of the published controller.
const (
	gateInPlaceRestart = "InPlaceRestart"
	gateRestartJob     = "RestartJob"
	gateElasticJobSet  = "ElasticJobSet"
	gateTLSOptions     = "TLSOptions"
)

// gates returns the feature gates with the defaults of the published controller.
func gates() map[string]bootstrap.Gate {
	return map[string]bootstrap.Gate{
		gateInPlaceRestart: {PreRelease: bootstrap.Alpha},
		gateRestartJob:     {PreRelease: bootstrap.Alpha},
		gateElasticJobSet:  {PreRelease: bootstrap.Alpha},
		gateTLSOptions:     {Default: true, PreRelease: bootstrap.Beta},
	}
}

func (o *Options) features() policy.Features {
	return policy.Features{
		RestartJob:     o.Enabled(gateRestartJob),
		InPlaceRestart: o.Enabled(gateInPlaceRestart),
		ElasticJobSet:  o.Enabled(gateElasticJobSet),
	}
}

// podsOfAgents returns the cache that restartStrategy InPlaceRestart needs, or nil if the feature is off.
func (o *Options) podsOfAgents(ctx context.Context, mgr ctrl.Manager) (cache.Cache, error) {
	if !o.Enabled(gateInPlaceRestart) {
		return nil, nil
	}
	pods, err := jobset.NewPods(ctx, mgr, nil)
	if err != nil {
		return nil, fmt.Errorf("adding the pods of agents: %w", err)
	}
	return pods, nil
}
