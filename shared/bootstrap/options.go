package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Options is what a manager starts with. A program takes the Defaults, changes what is different for it, and lets flags and
// the configuration file decide.
type Options struct {
	ConfigFile string
	// Warnings about the file: the manager logs them when it starts.
	Warnings []error

	Webhooks     bool
	Webhook      Webhook
	Certificates Certificates
	Leader       Leader
	Metrics      Metrics
	Health       Health
	Profiling    string // address of /debug/pprof; 0 turns it off
	Client       Client
	TLS          TLS
	Gates        map[string]Gate
	Workers      int // objects of a kind that are worked on at a time

	// KindPatience is how long a program waits for its own kind to be served.
	KindPatience time.Duration

	gateFlag gateFlag

	Zap zap.Options

	// Registry of metrics: that of controller-runtime but in tests.
	Registry prometheus.Registerer
}

// Webhook is where webhooks are served.
type Webhook struct {
	Host    string // empty: all addresses
	Port    int
	CertDir string // holds tls.crt and tls.key
}

// Certificates says who makes the certificate of the webhooks. Internal: the program itself, into a Secret that is mounted at
// Webhook.CertDir. Otherwise somebody else keeps the folder filled.
type Certificates struct {
	Internal    bool
	Namespace   string // of Service and Secret
	ServiceName string // the API server calls it
	SecretName  string // must exist; it may be empty
	CAName      string
	Validating  []string // ValidatingWebhookConfigurations that get the CA
	Mutating    []string // MutatingWebhookConfigurations that get the CA
}

// Leader is the election of one of several processes. Renew and Retry that are 0 follow from Lease.
type Leader struct {
	Elect     bool
	Namespace string
	Name      string
	Lease     time.Duration // a silent leader keeps it so long
	Renew     time.Duration // the leader gives up after so long
	Retry     time.Duration // between two attempts
}

// Metrics is the endpoint of metrics. Secure: HTTPS, for those whom the cluster lets get /metrics.
type Metrics struct {
	Address string // 0 turns it off
	Secure  bool
	CertDir string // empty: a self-signed certificate
}

// Health is the endpoint of probes.
type Health struct {
	Address   string // 0 turns it off
	Readiness string // path
	Liveness  string // path
}

// Client limits the requests to the API server.
type Client struct {
	QPS   float32
	Burst int
}

// TLS is for webhooks and metrics. Empty: Go's choice.
type TLS struct {
	MinVersion   string // VersionTLS12 or VersionTLS13
	CipherSuites []string
}

// Defaults are those of all programs.
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

// ownNamespace is that of the pod, empty outside of one.
func ownNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	content, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return strings.TrimSpace(string(content))
}
