//go:build envtest

package elasticjob

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

var apiServer *rest.Config

func TestMain(m *testing.M) {
	os.Exit(apiserver.Main(m, &apiServer, "../../../../charts/elastic-operator/files/crds"))
}

// world is a namespace with a controller that can be stopped and started again. The test acts as the scheduler and the kubelets.
type world struct {
	*testing.T
	client.Client
	namespace string
	image     string
	ask       RendezvousReader
	agents    plan.Agents
	metrics   *prometheus.Registry

	mu     sync.Mutex
	calls  []string
	fault  func(call string, object client.Object) error
	events []string
	errors []string
	held   map[string]bool // pods that cannot be scheduled
	dead   map[string]bool // nodes whose kubelet is not running
	cancel context.CancelFunc
	ended  chan error
}

func newWorld(t *testing.T, changes ...func(*world)) *world {
	t.Helper()
	t.Parallel()
	w := &world{T: t, held: map[string]bool{}, dead: map[string]bool{}}
	for _, change := range changes {
		change(w)
	}
	w.Client = must(client.New(apiServer, client.Options{Scheme: testScheme()}))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "elastic-"}}
	w.ok(w.Create(t.Context(), ns))
	w.namespace = ns.Name
	for i := range 3 {
		w.addNode(i)
	}
	w.start()
	playing, stop := context.WithCancel(context.Background())
	played := make(chan struct{})
	go func() { defer close(played); w.playNodes(playing) }()
	t.Cleanup(func() { stop(); <-played; w.stop() })
	return w
}

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = v1alpha1.AddToScheme(scheme)
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

// start starts a controller without any state.
func (w *world) start() {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended, w.metrics = cancel, make(chan error, 1), prometheus.NewRegistry()
	mgr := must(ctrl.NewManager(apiServer, w.managerOptions()))
	w.ok(AddIndexes(ctx, mgr.GetFieldIndexer()))
	r := New(Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: w, Metrics: NewMetrics(w.metrics),
		RendezvousImage: w.image, Rendezvous: w.ask, Agents: w.agents,
	})
	w.ok(r.Register(mgr))
	go func() { w.ended <- mgr.Start(ctx) }()
}

func (w *world) managerOptions() ctrl.Options {
	options := CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
	return ctrl.Options{
		Scheme: testScheme(), Cache: options, Metrics: server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true), UsePriorityQueue: ptr.To(false), MaxConcurrentReconciles: 2},
		NewClient:  w.newClient,
		Logger:     funcr.New(w.log, funcr.Options{Verbosity: -1}),
	}
}

// stop stops the controller between two calls, as a crash would.
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
func (w *world) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

func (w *world) log(_, args string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errors = append(w.errors, args)
}

func (w *world) sofar() (calls, events, errors []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls), slices.Clone(w.events), slices.Clone(w.errors)
}

func (w *world) heard(parts ...string) {
	w.Helper()
	for _, part := range parts {
		w.eventually(func() string {
			_, events, _ := w.sofar()
			if slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, part) }) {
				return ""
			}
			return "no event contains " + part
		})
	}
}

// recorder records the controller's calls, and lets tests make them fail.
type recorder struct {
	client.Client
	w *world
}

func (w *world) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.New(config, options)
	return recorder{inner, w}, err
}

func (w *world) called(call string, object client.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call+" "+object.GetName())
	if w.fault == nil {
		return nil
	}
	return w.fault(call, object)
}

func (w *world) failOn(fault func(call string, object client.Object) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

func (r recorder) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	if err := r.w.called("create", o); err != nil {
		return err
	}
	return r.Client.Create(ctx, o, options...)
}

func (r recorder) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	if err := r.w.called("delete", o); err != nil {
		return err
	}
	return r.Client.Delete(ctx, o, options...)
}

const (
	patience = 30 * time.Second
	// quiet is how long a test waits to check that nothing happens.
	quiet = 700 * time.Millisecond
)

// eventually waits until check returns no problem.
func (w *world) eventually(check func() string) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for {
		complaint := check()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			_, events, errors := w.sofar()
			w.Fatalf("after %s: %s\nerrors of the controller: %s\nevents: %s", patience, complaint, strings.Join(errors, "\n"), strings.Join(events, "\n"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// always checks for a while that check returns no problem.
func (w *world) always(check func() string) {
	w.Helper()
	for deadline := time.Now().Add(quiet); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if complaint := check(); complaint != "" {
			w.Fatal(complaint)
		}
	}
}
