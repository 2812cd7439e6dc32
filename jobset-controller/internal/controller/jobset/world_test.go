//go:build envtest

package jobset

import (
	"context"
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

var apiServer *rest.Config

func TestMain(m *testing.M) {
	os.Exit(apiserver.Main(m, &apiServer, "../../../../charts/jobset-controller/files/crds"))
}

// world is a namespace with a JobSet controller.
type world struct {
	*sandbox.Sandbox
	agents   inject.Settings
	features policy.Features
	metrics  *prometheus.Registry
}

// newWorld starts a controller in its own namespace.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldThatAdds(t, inject.Settings{})
}

// newWorldThatAdds starts a controller that adds agents.
func newWorldThatAdds(t *testing.T, agents inject.Settings) *world {
	t.Helper()
	w := newStoppedWorld(t, agents, policy.Features{RestartJob: true, InPlaceRestart: true, ElasticJobSet: true})
	w.start()
	return w
}

// newStoppedWorld returns a world whose controller is not started.
func newStoppedWorld(t *testing.T, agents inject.Settings, features policy.Features) *world {
	t.Helper()
	t.Parallel()
	return &world{Sandbox: sandbox.New(t, apiServer, sandbox.Scheme(v1alpha2.AddToScheme), "jobset-"), agents: agents, features: features}
}

// start runs a new controller.
func (w *world) start() {
	w.Helper()
	w.metrics = prometheus.NewRegistry()
	w.Start(CacheOptions(w.features), func(ctx context.Context, mgr ctrl.Manager) error {
		if err := AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
		r := New(Options{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: w, Metrics: NewMetrics(w.metrics), Clock: clock.RealClock{}, Agents: w.agents,
			Features: w.features,
		})
		return r.Register(mgr)
	})
}
