package bootstrap

import (
	"cmp"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Options configures a manager. A program starts with Defaults, changes some of them, and then applies flags and the configuration
// file.
type Options struct {
	ConfigFile string
	// Warnings are warnings about the configuration file, which are logged when the manager starts.
	Warnings []error

	Webhooks     bool
	Webhook      Webhook
	Certificates Certificates
	Leader       Leader
	Metrics      Metrics
	Health       Health
	Profiling    string // address of /debug/pprof; 0 disables it
	Client       Client
	TLS          TLS
	Gates        map[string]Gate
	Workers      int // number of objects that each controller reconciles concurrently

	// KindPatience is how long to wait for the API server to serve the program's own kind.
	KindPatience time.Duration

	gates    featuregate.MutableFeatureGate // set by Complete
	gateFlag map[string]bool

	Zap zap.Options

	// Registry is the metrics registry. Only tests replace controller-runtime's registry.
	Registry prometheus.Registerer
}

// Webhook configures the address and certificate of the webhook server.
type Webhook struct {
	Host    string `json:"host,omitempty"` // empty means all addresses
	Port    int    `json:"port,omitempty"`
	CertDir string `json:"certDir,omitempty"` // contains tls.crt and tls.key
}

// Certificates configures the webhook certificate. If Internal is set, the program creates it and stores it in a Secret. Otherwise, it
// is provided externally in Webhook.CertDir.
type Certificates struct {
	Internal    bool     `json:"enable,omitempty"`
	Namespace   string   `json:"-"`                            // namespace of the Service and the Secret
	ServiceName string   `json:"webhookServiceName,omitempty"` // called by the API server
	SecretName  string   `json:"webhookSecretName,omitempty"`  // the Secret must exist but may be empty
	CAName      string   `json:"-"`
	Validating  []string `json:"-"` // ValidatingWebhookConfigurations that get the CA
	Mutating    []string `json:"-"` // MutatingWebhookConfigurations that get the CA
}

// ServeWebhooks lets the program serve webhooks. The names of the Service, the Secret and the webhook configurations begin with the prefix,
// as in the upstream installations.
func (o *Options) ServeWebhooks(prefix string) {
	o.Certificates.ServiceName = prefix + "-webhook-service"
	o.Certificates.SecretName = prefix + "-webhook-server-cert"
	o.Certificates.CAName = prefix + "-ca"
	o.Certificates.Validating = []string{prefix + "-validating-webhook-configuration"}
	o.Certificates.Mutating = []string{prefix + "-mutating-webhook-configuration"}
}

// Leader configures leader election. If Renew or Retry is 0, it is derived from Lease.
type Leader struct {
	Elect     bool          `json:"leaderElect,omitempty"`
	Namespace string        `json:"resourceNamespace,omitempty"`
	Name      string        `json:"resourceName,omitempty"`
	Lease     time.Duration `json:"-"` // how long a leader that does not renew the Lease keeps it
	Renew     time.Duration `json:"-"` // how long the leader tries to renew before it gives up
	Retry     time.Duration `json:"-"` // time between tries
}

// Metrics configures the metrics endpoint. Secure means that metrics are served over HTTPS, only to clients that are authorized
// to get /metrics.
type Metrics struct {
	Address string `json:"bindAddress,omitempty"` // 0 disables it
	Secure  bool   `json:"-"`
	CertDir string `json:"certDir,omitempty"` // empty means a self-signed certificate
}

// Health configures the probe endpoint.
type Health struct {
	Address   string `json:"healthProbeBindAddress,omitempty"` // 0 disables it
	Readiness string `json:"readinessEndpointName,omitempty"`  // path
	Liveness  string `json:"livenessEndpointName,omitempty"`   // path
}

// Client limits the requests to the API server.
type Client struct {
	QPS   float32 `json:"qps,omitempty"`
	Burst int     `json:"burst,omitempty"`
}

// TLS configures TLS for webhooks and metrics. By default, the minimum is TLS 1.2, with Go's cipher suites.
type TLS struct {
	MinVersion   string   `json:"minVersion,omitempty"`   // VersionTLS12 or VersionTLS13
	CipherSuites []string `json:"cipherSuites,omitempty"` // not with VersionTLS13
}

// Defaults returns the defaults that all programs share.
func Defaults() Options {
	return Options{
		Webhook:      Webhook{Port: 9443, CertDir: filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")},
		Certificates: Certificates{Internal: true, Namespace: ownNamespace()},
		Leader:       Leader{Namespace: ownNamespace(), Lease: 15 * time.Second},
		Metrics:      Metrics{Address: ":8443", Secure: true},
		Health:       Health{Address: ":8081", Readiness: "/readyz", Liveness: "/healthz"},
		Profiling:    "0",
		Client:       Client{QPS: 500, Burst: 500},
		Workers:      8,
		KindPatience: kindPatience,
		Registry:     metrics.Registry,
	}
}

// ownNamespace returns the namespace of the pod that this process runs in, or "" outside of a pod.
func ownNamespace() string {
	content, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return cmp.Or(os.Getenv("POD_NAMESPACE"), strings.TrimSpace(string(content)))
}

const (
	flagWebhookPort    = "webhook-port"
	flagWebhookCertDir = "webhook-cert-dir"
	flagLeaseNamespace = "leader-election-namespace"
	flagLeaseName      = "leader-election-name"
	flagLeaseDuration  = "leader-election-lease-duration"
	flagMetricsAddress = "metrics-bind-address"
	flagHealthAddress  = "health-probe-bind-address"
	flagProfiling      = "pprof-bind-address"
	flagQPS            = "kube-api-qps"
	flagBurst          = "kube-api-burst"
	flagWorkers        = "max-concurrent-reconciles"
	flagFeatureGates   = "feature-gates"
)

// Flags registers the flags, with the current options as defaults. --kubeconfig is registered by controller-runtime.
func (o *Options) Flags(set *pflag.FlagSet) {
	set.StringVar(&o.ConfigFile, "config", o.ConfigFile, "configuration file; flags override it")
	if o.Certificates.ServiceName != "" { // the program has webhooks
		set.BoolVar(&o.Webhooks, "webhooks", o.Webhooks, "serve webhooks; the program is not ready until their certificate exists")
		set.IntVar(&o.Webhook.Port, flagWebhookPort, o.Webhook.Port, "port of the webhooks")
		set.StringVar(&o.Webhook.CertDir, flagWebhookCertDir, o.Webhook.CertDir,
			"folder with tls.crt and tls.key that another program renews, such as cert-manager; if not set, the program creates its own certificate")
	}
	set.BoolVar(&o.Leader.Elect, "leader-elect", o.Leader.Elect, "elect a leader, so that only one replica acts at a time")
	set.StringVar(&o.Leader.Namespace, flagLeaseNamespace, o.Leader.Namespace, "namespace of the Lease (env POD_NAMESPACE)")
	set.StringVar(&o.Leader.Name, flagLeaseName, o.Leader.Name, "name of the Lease")
	set.DurationVar(&o.Leader.Lease, flagLeaseDuration, o.Leader.Lease, "how long standbys wait for a leader that does not renew the Lease before they replace it")
	set.StringVar(&o.Metrics.Address, flagMetricsAddress, o.Metrics.Address, "address of the metrics endpoint; 0 disables it")
	set.BoolVar(&o.Metrics.Secure, "metrics-secure", o.Metrics.Secure, "serve metrics over HTTPS, only to clients that RBAC allows to get /metrics")
	set.StringVar(&o.Health.Address, flagHealthAddress, o.Health.Address, "address of /healthz and /readyz; 0 disables them")
	set.StringVar(&o.Profiling, flagProfiling, o.Profiling, "address of /debug/pprof, which requires no authentication; 0 disables it")
	set.Float32Var(&o.Client.QPS, flagQPS, o.Client.QPS, "maximum requests per second to the API server")
	set.IntVar(&o.Client.Burst, flagBurst, o.Client.Burst, "maximum burst of requests to the API server")
	set.IntVar(&o.Workers, flagWorkers, o.Workers, "maximum number of objects of a kind that are reconciled concurrently")
	if len(o.Gates) > 0 {
		set.Var(cliflag.NewMapStringBool(&o.gateFlag), flagFeatureGates,
			"features to enable or disable, such as `A=true,B=false`:\n"+strings.Join(o.newGates().KnownFeatures(), "\n"))
	}
	goFlags := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(goFlags)
	o.Zap.BindFlags(goFlags)
	set.AddGoFlagSet(goFlags)
}

// Logging implements Program.
func (o *Options) Logging() *zap.Options { return &o.Zap }

// Join joins errors into a single line, so that all of them are reported at once.
func Join(errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// Problems collects errors. Each error names the flag and, if there is one, the field of the configuration file.
type Problems []error

// When adds an error if something is wrong.
func (p *Problems) When(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (o *Options) validate() []error {
	var p Problems
	p.When(o.Workers < 1, "--%s: %d is less than 1", flagWorkers, o.Workers)
	p.When(o.Client.QPS <= 0, "--%s (clientConnection.qps): %g is not above 0", flagQPS, o.Client.QPS)
	p.When(o.Client.Burst < 1, "--%s (clientConnection.burst): %d is less than 1", flagBurst, o.Client.Burst)
	p.address("--"+flagMetricsAddress+" (metrics.bindAddress)", o.Metrics.Address)
	p.address("--"+flagHealthAddress+" (health.healthProbeBindAddress)", o.Health.Address)
	p.address("--"+flagProfiling, o.Profiling)
	p.path("health.readinessEndpointName", o.Health.Readiness)
	p.path("health.livenessEndpointName", o.Health.Liveness)
	p.When(o.Health.Readiness == o.Health.Liveness, "health: both endpoints are %s", o.Health.Liveness)
	if o.Webhooks {
		p.webhooks(o)
	}
	if o.Leader.Elect {
		p.leader(o.Leader)
	}
	if _, err := o.TLS.change(); err != nil {
		p = append(p, err)
	}
	return p
}

func (p *Problems) address(name, address string) {
	_, port, err := net.SplitHostPort(address)
	p.When(address != "0" && (err != nil || port == ""), "%s: %q is not host:port, :port or 0", name, address)
}

func (p *Problems) path(name, path string) {
	p.When(!strings.HasPrefix(path, "/") || len(path) < 2, "%s: %q is not a path such as /readyz", name, path)
}

func (p *Problems) webhooks(o *Options) {
	p.When(o.Webhook.Port < 1 || o.Webhook.Port > 65535, "--%s (webhook.port): %d is not between 1 and 65535", flagWebhookPort, o.Webhook.Port)
	p.When(o.Webhook.CertDir == "", "--%s (webhook.certDir) is empty", flagWebhookCertDir)
	c := o.Certificates
	if !c.Internal {
		return
	}
	p.When(c.Namespace == "", "--webhooks: the namespace of Service %s is not known: set POD_NAMESPACE, or provide a certificate with --%s",
		c.ServiceName, flagWebhookCertDir)
	p.When(c.ServiceName == "", "internalCertManagement.webhookServiceName is empty")
	p.When(c.SecretName == "", "internalCertManagement.webhookSecretName is empty")
}

// minimumLease is the shortest lease duration at which a slow API server does not cause a leader change.
const minimumLease = 3 * time.Second

func (p *Problems) leader(l Leader) {
	p.When(l.Namespace == "", "--%s (leaderElection.resourceNamespace) is missing: specify a namespace, or set POD_NAMESPACE", flagLeaseNamespace)
	p.When(l.Name == "", "--%s (leaderElection.resourceName) is missing", flagLeaseName)
	p.When(l.Lease < minimumLease, "--%s (leaderElection.leaseDuration): %s is below %s", flagLeaseDuration, l.Lease, minimumLease)
	p.When(l.Renew < 0 || l.renew() >= l.Lease, "leaderElection.renewDeadline: %s is not below the leaseDuration of %s", l.renew(), l.Lease)
	p.When(l.Retry < 0 || 2*l.retry() >= l.renew(), "leaderElection.retryPeriod: %s is not below half of the renewDeadline of %s", l.retry(), l.renew())
}

// change returns a function that applies the options to a server's TLS configuration.
func (t TLS) change() (func(*tls.Config), error) {
	version, err := cliflag.TLSVersion(t.MinVersion)
	if err != nil || version < tls.VersionTLS12 {
		return nil, fmt.Errorf("tls.minVersion: %q is not VersionTLS12 or VersionTLS13", t.MinVersion)
	}
	if version == tls.VersionTLS13 && len(t.CipherSuites) > 0 {
		return nil, fmt.Errorf("tls.cipherSuites: must be empty with VersionTLS13")
	}
	for _, name := range t.CipherSuites {
		if !slices.Contains(cliflag.PreferredTLSCipherNames(), name) {
			return nil, fmt.Errorf("tls.cipherSuites: %q is unknown or insecure", name)
		}
	}
	suites, err := cliflag.TLSCipherSuites(t.CipherSuites)
	return func(c *tls.Config) {
		c.MinVersion = version
		c.CipherSuites = suites
	}, err
}

// onlyHTTP1 disables HTTP/2, because clients can exhaust the server with rapid resets.
func onlyHTTP1(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }

// Gate is a feature gate: its default, its stage, and whether it is locked to the default.
type Gate = featuregate.FeatureSpec

const (
	Alpha = featuregate.Alpha
	Beta  = featuregate.Beta
)

// Enabled reports whether the feature gate is on. It panics if the program has no such gate.
func (o *Options) Enabled(gate string) bool { return o.gates.Enabled(featuregate.Feature(gate)) }

// applyGates sets the feature gates from the file and the flag. The flag overrides the file.
func (o *Options) applyGates(file map[string]bool) []error {
	values := map[string]bool{}
	maps.Copy(values, file)
	maps.Copy(values, o.gateFlag)
	o.gates = o.newGates()
	if err := o.gates.SetFromMap(values); err != nil {
		return []error{fmt.Errorf("--%s (featureGates): %w", flagFeatureGates, err)}
	}
	return nil
}

// newGates returns the gates with their defaults.
func (o *Options) newGates() featuregate.MutableFeatureGate {
	specs := map[featuregate.Feature]Gate{}
	for name, gate := range o.Gates {
		specs[featuregate.Feature(name)] = gate
	}
	gates := featuregate.NewFeatureGate()
	utilruntime.Must(gates.Add(specs))
	return gates
}
