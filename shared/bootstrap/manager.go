package bootstrap

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	goruntime "runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
	"github.com/holdfast-project/holdfast/shared/version"
)

// Permissions of all managers: the Lease, events, and the authorization of clients that read metrics.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// graceTime is how long controllers may take to finish. The rest of a pod's 30 s is left for the Lease and the servers.
const graceTime = 20 * time.Second

// Setup is the program-specific part of a manager.
type Setup struct {
	Program string // for the User-Agent and holdfast_build_info
	Scheme  *runtime.Scheme
	Cache   cache.Options
	Indexes []Index // of the cache
	// Webhooks registers the webhooks. It is called once there is a certificate. It is nil if there are no webhooks.
	Webhooks func(ctrl.Manager) error
}

// Index adds indexes to a cache.
type Index = func(context.Context, client.FieldIndexer) error

// Manager runs controllers and webhooks.
type Manager struct {
	ctrl.Manager
	// Identity identifies this process as a holder of the Lease.
	Identity string

	options *Options
}

// New returns a manager with metrics, health checks and, if enabled, webhooks.
func New(cluster *rest.Config, o *Options, s Setup) (*Manager, error) {
	for _, warning := range o.Warnings {
		ctrl.Log.WithName("config").Info("Ignored: "+warning.Error(), "file", o.ConfigFile)
	}
	cluster = o.cluster(cluster, s.Program)
	change, err := o.TLS.change()
	if err != nil {
		return nil, err
	}
	lock, err := o.Leader.lock(cluster, newIdentity())
	if err != nil {
		return nil, err
	}
	server := webhook.NewServer(webhook.Options{
		Host: o.Webhook.Host, Port: o.Webhook.Port, CertDir: o.Webhook.CertDir, TLSOpts: []func(*tls.Config){change},
	})
	// The server creates its path map when it starts or when the first path is registered, and webhooks are registered concurrently.
	// Registering a path here avoids the race without changing any responses.
	server.Register("/", http.NotFoundHandler())
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:                              s.Scheme,
		Cache:                               s.Cache,
		Metrics:                             o.metricsServer(change),
		HealthProbeBindAddress:              o.Health.Address,
		ReadinessEndpointName:               o.Health.Readiness,
		LivenessEndpointName:                o.Health.Liveness,
		PprofBindAddress:                    o.Profiling,
		WebhookServer:                       server,
		Controller:                          o.controllers(),
		GracefulShutdownTimeout:             ptr.To(graceTime),
		LeaderElection:                      o.Leader.Elect,
		LeaderElectionID:                    o.Leader.Name, // becomes the label of leader_election_master_status
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true, // the process exits when the manager stops
		LeaseDuration:                       ptr.To(o.Leader.Lease),
		RenewDeadline:                       ptr.To(o.Leader.renew()),
		RetryPeriod:                         ptr.To(o.Leader.retry()),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	if err := registerBuildInfo(o.Registry, s.Program); err != nil {
		return nil, err
	}
	m := &Manager{Manager: mgr, Identity: lock.Identity(), options: o}
	return m, m.addChecks(server, s)
}

// controllers returns the settings for all controllers. Names may be repeated, because tests start several managers. The priority queue is
// off, because the one in controller-runtime v0.24.1 can deadlock on shutdown: it holds a lock that other workers need while it hands an
// item to a worker that has stopped.
func (o *Options) controllers() config.Controller {
	return config.Controller{SkipNameValidation: ptr.To(true), UsePriorityQueue: ptr.To(false), MaxConcurrentReconciles: o.Workers}
}

// addChecks adds the liveness check and the readiness check. The latter passes once all webhooks are served.
func (m *Manager) addChecks(server webhook.Server, s Setup) error {
	ready := healthz.Ping
	if m.options.Webhooks && s.Webhooks != nil {
		if err := registerExpiry(m.options.Registry, s.Program, m.options.Webhook.CertDir); err != nil {
			return err
		}
		certificate, err := m.options.addCertificates(m)
		if err != nil {
			return err
		}
		if err := registerWhenReady(m, certificate, s.Webhooks); err != nil {
			return err
		}
		ready = server.StartedChecker() // the server starts once there is a certificate
	}
	return errors.Join(m.AddHealthzCheck("ping", healthz.Ping), m.AddReadyzCheck("ready", ready))
}

// Start runs until ctx is done, then releases the Lease and returns nil. It returns an error if the Lease is lost.
func (m *Manager) Start(ctx context.Context) error {
	err := m.Manager.Start(ctx)
	if err != nil && err.Error() == "leader election lost" { // controller-runtime has no sentinel error for it
		return fmt.Errorf("lost the Lease %s/%s: another process may be leading now", m.options.Leader.Namespace, m.options.Leader.Name)
	}
	return err
}

func (l Leader) renew() time.Duration { return cmp.Or(l.Renew, l.Lease*2/3) }

// retry returns the retry period, which limits how long a handover takes: a released Lease is acquired within 2.2 periods.
func (l Leader) retry() time.Duration { return cmp.Or(l.Retry, l.Lease/8) }

// lock returns the Lease. The Lease uses its own connection with a shorter timeout and the program's User-Agent.
func (l Leader) lock(cluster *rest.Config, identity string) (resourcelock.Interface, error) {
	own := rest.CopyConfig(cluster)
	own.Timeout = max(l.renew()/2, time.Second) // leaves time for a second try
	clients, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("preparing the Lease: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name}, Client: clients.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}, nil
}

// newIdentity returns an identity that is unique to each process, even on the same host.
func newIdentity() string {
	host, _ := os.Hostname()
	return cmp.Or(host, "unknown") + "_" + string(uuid.NewUUID())
}

// cluster returns a copy of the connection settings with the rate limits and User-Agent of this program.
func (o *Options) cluster(c *rest.Config, program string) *rest.Config {
	own := rest.CopyConfig(c)
	own.QPS, own.Burst = o.Client.QPS, o.Client.Burst
	own.UserAgent = fmt.Sprintf("%s/%s (%s/%s) %s", program, version.Version(), goruntime.GOOS, goruntime.GOARCH, version.Commit())
	return own
}

func (o *Options) metricsServer(change func(*tls.Config)) server.Options {
	options := server.Options{
		BindAddress: o.Metrics.Address, SecureServing: o.Metrics.Secure, CertDir: o.Metrics.CertDir,
		TLSOpts: []func(*tls.Config){change, onlyHTTP1},
	}
	if o.Metrics.Secure {
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return options
}

// registerBuildInfo registers the version metric. It replaces the metric of an earlier manager in this process.
func registerBuildInfo(registry prometheus.Registerer, program string) error {
	info := meter.GaugeVec(series.BuildInfo)
	registry.Unregister(info)
	if err := registry.Register(info); err != nil {
		return fmt.Errorf("registering the build info: %w", err)
	}
	info.WithLabelValues(program, version.Version(), version.Commit(), goruntime.Version()).Set(1)
	return nil
}

// Everywhere is a runnable that runs in all replicas and not only in the leader.
type Everywhere manager.RunnableFunc

func (e Everywhere) Start(ctx context.Context) error { return e(ctx) }
func (Everywhere) NeedLeaderElection() bool          { return false }

// Every returns a runnable that calls a function at the given interval while this process is the leader. Errors are only logged, because
// the next call tries again.
func Every(interval time.Duration, failed string, do func(context.Context) error) manager.RunnableFunc {
	return func(ctx context.Context) error {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := do(ctx); err != nil {
				ctrl.LoggerFrom(ctx).V(1).Info(failed, "error", err.Error())
			}
		}, interval)
		return nil
	}
}

const (
	// kindPatience is the default for Options.KindPatience. It is shorter than the time after which the kubelet restarts a container whose
	// startup probe keeps failing.
	kindPatience = 30 * time.Second
	kindRetry    = 200 * time.Millisecond
)

// AwaitKind waits until the API server serves a kind, which takes a moment after its CRD has been installed. Caches would retry
// forever, whereas AwaitKind returns a clear error after Options.KindPatience.
func (m *Manager) AwaitKind(ctx context.Context, kind schema.GroupVersionKind) error {
	return awaitKind(ctx, m.GetRESTMapper(), kind, m.options.KindPatience)
}

func awaitKind(ctx context.Context, mapper meta.RESTMapper, kind schema.GroupVersionKind, patience time.Duration) error {
	log := ctrl.Log.WithName("setup").WithValues("kind", kind.String())
	var problem error
	err := wait.PollUntilContextTimeout(ctx, kindRetry, patience, true, func(context.Context) (bool, error) {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil && problem == nil {
			log.Info("The API server does not serve the kind, waiting for its custom resource definition", "patience", patience.String(), "reason", err.Error())
		}
		problem = err
		return err == nil, nil
	})
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case meta.IsNoMatchError(problem):
		return fmt.Errorf("the API server did not serve kind %s of %s within %s: install its CustomResourceDefinition first",
			kind.Kind, kind.GroupVersion(), patience)
	}
	return fmt.Errorf("discovering kind %s of %s: %w", kind.Kind, kind.GroupVersion(), problem)
}

// NamespaceOf returns the namespace of an object. During admission, it returns the request's namespace, because a new object may not specify one.
func NamespaceOf(ctx context.Context, obj metav1.Object) string {
	if request, err := admission.RequestFromContext(ctx); err == nil && request.Namespace != "" {
		return request.Namespace
	}
	return obj.GetNamespace()
}

// NoValidation allows all updates and deletions. Validators embed it and define the checks that they need.
type NoValidation[T any] struct{}

func (NoValidation[T]) ValidateUpdate(context.Context, T, T) (admission.Warnings, error) {
	return nil, nil
}
func (NoValidation[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}
