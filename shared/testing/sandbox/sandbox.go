// Package sandbox runs a controller in a namespace of a real API server. Tests can stop and restart the controller, make its
// calls fail, and stand in for all other programs. The sandbox records the controller's writes, error logs and events.
package sandbox

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
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
)

// Sandbox is a namespace with a client for the test. The test's own calls are not recorded and do not fail.
type Sandbox struct {
	*testing.T
	client.Client
	Namespace string

	cluster *rest.Config
	mu      sync.Mutex
	calls   []string
	fault   Fault
	events  []string
	errors  []string
	stop    func() // nil if nothing is running
}

// New creates a namespace with a generated name. A running controller is stopped at the end of the test.
func New(t *testing.T, cluster *rest.Config, scheme *runtime.Scheme, prefix string) *Sandbox {
	t.Helper()
	s := &Sandbox{T: t, cluster: cluster}
	var err error
	s.Client, err = client.New(cluster, client.Options{Scheme: scheme})
	s.OK(err)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	s.OK(s.Create(t.Context(), ns))
	s.Namespace = ns.Name
	t.Cleanup(s.Stop)
	return s
}

// Scheme returns a scheme with the Kubernetes kinds and those registered by add.
func Scheme(add ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, kinds := range append(add, clientgoscheme.AddToScheme) {
		if err := kinds(scheme); err != nil {
			panic(err) // a kind is registered twice
		}
	}
	return scheme
}

// OK fails the test immediately if there is an error.
func (s *Sandbox) OK(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Start runs a new manager with the controllers that add adds. Its caches are limited to this namespace.
func (s *Sandbox) Start(caches cache.Options, add func(context.Context, ctrl.Manager) error) {
	s.Helper()
	caches.DefaultNamespaces = s.Namespaces()
	mgr, err := ctrl.NewManager(s.cluster, ctrl.Options{
		Scheme:     s.Scheme(),
		Cache:      caches,
		Metrics:    server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true), UsePriorityQueue: ptr.To(false), MaxConcurrentReconciles: 2},
		NewClient:  s.newClient,
		Logger:     funcr.New(s.log, funcr.Options{Verbosity: -1}),
	})
	s.OK(err)
	s.OK(add(s.Context(), mgr))
	s.stop = Run(s.T, mgr.Start)
}

// Namespaces returns cache settings that limit a cache to this namespace.
func (s *Sandbox) Namespaces() map[string]cache.Config {
	return map[string]cache.Config{s.Namespace: {}}
}

// Stop stops the controller, like a crash between two calls.
func (s *Sandbox) Stop() {
	if s.stop != nil {
		s.stop()
	}
	s.stop = nil
}

// log records errors, which is the only enabled log level.
func (s *Sandbox) log(_, args string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, args)
}

// report returns the last errors and events for a failed test's message.
func (s *Sandbox) report() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := s.errors[max(0, len(s.errors)-3):]
	return "errors of the controller: " + strings.Join(latest, "\n") + "\nevents: " + strings.Join(s.events, "\n")
}

// Calls returns the controller's calls so far: its writes, and its reads through Reader.
func (s *Sandbox) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}
