//go:build envtest

package appwrapper

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/apiserver"
)

var apiServer *rest.Config

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	config, stop, err := apiserver.Start("../../../config/crd/bases", "testdata/crds", "../../../../jobset-controller/config/crd/bases")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	config.QPS, config.Burst = 500, 500
	apiServer = config
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
	}
	os.Exit(code)
}

// world is a namespace with a controller in it, which can be stopped, started again and made to fail.
type world struct {
	*testing.T
	client.Client
	namespace string
	config    settings.AppWrapper
	metrics   *prometheus.Registry

	mu     sync.Mutex
	calls  []string
	fault  func(call string, object client.Object) error
	events []string
	errors []string
	cancel context.CancelFunc
	ended  chan error
}

// newWorld starts a controller in a namespace of its own. The periods are those of a hurry: what takes minutes in the field takes
// tenths of a second.
func newWorld(t *testing.T, changes ...func(*settings.AppWrapper)) *world {
	t.Helper()
	t.Parallel()
	w := &world{T: t, config: settings.Default()}
	f := &w.config.FaultTolerance
	f.FailureGracePeriod, f.RetryPausePeriod = settings.Duration(300*time.Millisecond), settings.Duration(100*time.Millisecond)
	for _, change := range changes {
		change(&w.config)
	}
	w.Client = must(client.New(apiServer, client.Options{Scheme: testScheme()}))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "appwrapper-"}}
	w.ok(w.Create(t.Context(), ns))
	w.namespace = ns.Name
	w.start()
	t.Cleanup(w.stop)
	return w
}

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = v1beta2.AddToScheme(scheme)
	return scheme
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// start runs a controller that has seen nothing yet.
func (w *world) start() {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended, w.metrics = cancel, make(chan error, 1), prometheus.NewRegistry()
	mgr := must(ctrl.NewManager(apiServer, w.managerOptions()))
	w.ok(AddIndexes(ctx, mgr.GetFieldIndexer()))
	options := WrappedCacheOptions(mgr.GetScheme(), mgr.GetRESTMapper())
	options.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
	wrapped := must(cache.New(apiServer, options))
	w.ok(mgr.Add(wrapped))
	r := New(Options{
		Client: mgr.GetClient(), Live: reader{mgr.GetAPIReader(), w}, Wrapped: wrapped, Recorder: w, Metrics: NewMetrics(w.metrics),
		Discovery: must(discovery.NewDiscoveryClientForConfig(apiServer)), Clock: clock.RealClock{}, Config: w.config,
	})
	w.ok(r.Register(mgr, 2))
	go func() { w.ended <- mgr.Start(ctx) }()
}

func (w *world) managerOptions() ctrl.Options {
	options := CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
	return ctrl.Options{
		Scheme:     testScheme(),
		Cache:      options,
		Metrics:    server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		NewClient:  w.newClient,
		Logger:     funcr.New(w.log, funcr.Options{Verbosity: -1}),
	}
}

// stop ends the controller, as a crash between two calls would.
func (w *world) stop() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	if err := <-w.ended; err != nil {
		w.Error(err)
	}
	w.cancel = nil
}

// Eventf records an event.
func (w *world) Eventf(_, _ runtime.Object, kind, reason, action, note string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, kind+" "+reason+"/"+action+": "+fmt.Sprintf(note, args...))
}

// log keeps the errors; all else is below the verbosity.
func (w *world) log(_, args string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errors = append(w.errors, args)
}

func (w *world) errorsSoFar() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.errors[max(0, len(w.errors)-3):])
}

func (w *world) eventsSoFar() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

func (w *world) callsSoFar() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// failOn makes calls fail from now on; nil heals them.
func (w *world) failOn(fault func(call string, object client.Object) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

// called records a call of the controller and says whether it fails.
func (w *world) called(call string, object client.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
	if w.fault == nil {
		return nil
	}
	return w.fault(call, object)
}

const (
	patience = 30 * time.Second
	// quiet is how long nothing must happen for a test to believe that nothing will.
	quiet = 600 * time.Millisecond
)

// eventually waits until check has no complaint.
func (w *world) eventually(check func() string) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for {
		complaint := check()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("still after %s: %s\nerrors of the controller: %s\nevents: %s", patience, complaint,
				strings.Join(w.errorsSoFar(), "\n"), strings.Join(w.eventsSoFar(), "\n"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// always checks that there is no complaint for a while.
func (w *world) always(check func() string) {
	w.Helper()
	for deadline := time.Now().Add(quiet); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if complaint := check(); complaint != "" {
			w.Fatal(complaint)
		}
	}
}
