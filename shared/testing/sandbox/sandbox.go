// Package sandbox is a namespace of a real API server with a controller in it, which a test can stop, start again and make to fail.
// The test plays everybody else. What the controller writes, logs as an error and tells in events is kept.
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

// Sandbox is the namespace, seen by the test: its calls are neither recorded nor made to fail.
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
	stop    func() // nil: nothing runs
}

// New makes a namespace whose name begins with the prefix. No controller runs yet; the last to run ends with the test.
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

// Scheme knows the kinds of Kubernetes and those that are added.
func Scheme(add ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, kinds := range append(add, clientgoscheme.AddToScheme) {
		if err := kinds(scheme); err != nil {
			panic(err) // two types of one kind: nothing a test could do about
		}
	}
	return scheme
}

// OK ends the test if there is an error.
func (s *Sandbox) OK(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Start runs what is added to a manager that has seen nothing yet. Its caches hold this namespace.
func (s *Sandbox) Start(caches cache.Options, add func(context.Context, ctrl.Manager) error) {
	s.Helper()
	caches.DefaultNamespaces = s.Namespaces()
	mgr, err := ctrl.NewManager(s.cluster, ctrl.Options{
		Scheme:     s.Scheme(),
		Cache:      caches,
		Metrics:    server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true), UsePriorityQueue: ptr.To(false)},
		NewClient:  s.newClient,
		Logger:     funcr.New(s.log, funcr.Options{Verbosity: -1}),
	})
	s.OK(err)
	s.OK(add(s.Context(), mgr))
	s.stop = Run(s.T, mgr.Start)
}

// Namespaces is for further caches.
func (s *Sandbox) Namespaces() map[string]cache.Config {
	return map[string]cache.Config{s.Namespace: {}}
}

// Stop ends the controller, as a crash between two calls would.
func (s *Sandbox) Stop() {
	if s.stop != nil {
		s.stop()
	}
	s.stop = nil
}

// log keeps the errors; all else is below the verbosity.
func (s *Sandbox) log(_, args string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, args)
}

// report is what a test that has waited in vain says.
func (s *Sandbox) report() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := s.errors[max(0, len(s.errors)-3):]
	return "errors of the controller: " + strings.Join(latest, "\n") + "\nevents: " + strings.Join(s.events, "\n")
}

// Calls of the controller so far: what it writes, and what it reads through Reader.
func (s *Sandbox) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}
