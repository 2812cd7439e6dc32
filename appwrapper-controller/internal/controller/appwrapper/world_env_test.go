//go:build envtest

package appwrapper

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

var apiServer *rest.Config

func TestMain(m *testing.M) {
	os.Exit(apiserver.Main(m, &apiServer, "../../../../charts/appwrapper-controller/files/crds", "testdata/crds", "../../../../charts/jobset-controller/files/crds"))
}

// world is a namespace in which an AppWrapper controller runs.
type world struct {
	*sandbox.Sandbox
	config     settings.AppWrapper
	metrics    *prometheus.Registry
	reconciler *Reconciler
	// reviews verifies AppWrappers; nil turns the check off.
	reviews *review.Reviews
	// wrap replaces the cache of wrapped objects; nil keeps it.
	wrap func(cache.Cache) cache.Cache
}

// newWorld starts a controller in its own namespace. Periods of minutes are shortened to tenths of a second.
func newWorld(t *testing.T, changes ...func(*settings.AppWrapper)) *world {
	t.Helper()
	t.Parallel()
	w := &world{config: settings.Default()}
	f := &w.config.FaultTolerance
	f.FailureGracePeriod.Duration, f.RetryPausePeriod.Duration = 300*time.Millisecond, 100*time.Millisecond
	for _, change := range changes {
		change(&w.config)
	}
	w.Sandbox = sandbox.New(t, apiServer, sandbox.Scheme(v1beta2.AddToScheme), "appwrapper-")
	w.start()
	return w
}

// start starts a controller without any state.
func (w *world) start() {
	w.Helper()
	w.metrics = prometheus.NewRegistry()
	w.Start(CacheOptions(), func(ctx context.Context, mgr ctrl.Manager) error {
		if err := AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
		options := WrappedCacheOptions(mgr.GetScheme(), mgr.GetRESTMapper())
		options.DefaultNamespaces = w.Namespaces()
		observedComponent, err := cache.New(apiServer, options)
		if err != nil {
			return err
		}
		if err := mgr.Add(observedComponent); err != nil {
			return err
		}
		shown := observedComponent
		if w.wrap != nil {
			shown = w.wrap(observedComponent)
		}
		kinds, err := discovery.NewDiscoveryClientForConfig(apiServer)
		if err != nil {
			return err
		}
		w.reconciler = New(Options{
			Client: mgr.GetClient(), Live: w.Reader(mgr.GetAPIReader()), Wrapped: shown, Reviews: w.reviews, Recorder: w, Metrics: NewMetrics(w.metrics),
			Discovery: kinds, Config: w.config,
		})
		return w.reconciler.Register(mgr)
	})
}
