package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o, err := tryParse(args...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func tryParse(args ...string) (*Options, error) {
	o := NewOptions()
	return o, bootstrap.Parse(pflag.NewFlagSet("manager", pflag.ContinueOnError), o, args)
}

// published is the configuration file of the upstream installation.
const published = `
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
leaderElection: {leaderElect: true, resourceNamespace: jobset-system}
internalCertManagement: {enable: true, webhookServiceName: jobset-webhook-service, webhookSecretName: jobset-webhook-server-cert}
clientConnection: {qps: 500, burst: 500}
featureGates: {TLSOptions: true, InPlaceRestart: false}
`

func TestDefaultsEqualThoseOfThePublishedController(t *testing.T) {
	o := parse(t)
	if o.Metrics != (bootstrap.Metrics{Address: ":8443", Secure: true}) || o.Health.Address != ":8081" || o.Client != (bootstrap.Client{QPS: 500, Burst: 500}) {
		t.Errorf("got %+v", o.Options)
	}
	if o.Leader.Name != "6d4f6a47.jobset.x-k8s.io" || o.Leader.Elect || o.Leader.Lease != 15*time.Second || o.Webhooks {
		t.Errorf("got %+v", o.Options)
	}
}

func TestPublishedFile(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "jobset-system")
	for name, content := range map[string]string{
		"with many fields": published,
		"of the manifests": head + "leaderElection: {leaderElect: true}\ninternalCertManagement: {enable: true}\n",
		"with nothing":     head,
		"with every field": everyField,
	} {
		t.Run(name, func(t *testing.T) {
			o := parse(t, "--config="+write(t, content))
			if !o.Leader.Elect || o.Leader.Namespace != "jobset-system" || !o.Certificates.Internal || !o.Webhooks {
				t.Errorf("got %+v", o.Options)
			}
		})
	}
}

const head = "apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\n"

// everyField has all fields of the upstream kind, with their defaults.
const everyField = head + `
webhook: {port: 9443, host: "", certDir: ""}
leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s, resourceLock: leases, resourceName: 6d4f6a47.jobset.x-k8s.io, resourceNamespace: ""}
metrics: {bindAddress: ":8443", certDir: ""}
health: {healthProbeBindAddress: ":8081", readinessEndpointName: "", livenessEndpointName: ""}
tls: {minVersion: VersionTLS12, cipherSuites: []}
internalCertManagement: {enable: true, webhookServiceName: jobset-webhook-service, webhookSecretName: jobset-webhook-server-cert}
clientConnection: {qps: 500, burst: 500}
featureGates: {InPlaceRestart: false, RestartJob: false, ElasticJobSet: false, TLSOptions: true}
`

func TestFlagsOverrideThePublishedFile(t *testing.T) {
	o := parse(t, "--config="+write(t, head), "--webhooks=false", "-leader-elect=false", "--kube-api-qps=7")
	if o.Webhooks || o.Leader.Elect || o.Client.QPS != 7 {
		t.Errorf("got %+v", o.Options)
	}
}

func TestInvalidFileIsOneClearError(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"an unknown field":        {"clientConnection", "clientConection", `unknown field "clientConection"`},
		"an unknown gate":         {"InPlaceRestart", "InPlaceRestarts", "unrecognized feature gate: InPlaceRestarts"},
		"another version":         {"v1alpha1", "v1beta1", "want apiVersion config.jobset.x-k8s.io/v1alpha1, kind Configuration"},
		"a value that is too low": {"qps: 500", "qps: 0", "clientConnection.qps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "jobset-system")
			_, err := tryParse("--config=" + write(t, strings.Replace(published, tc.from, tc.to, 1)))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDocumentedFileHasTheDefaults(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp")
	t.Setenv("POD_NAMESPACE", "jobset-system")
	page, err := os.ReadFile("../../../docs/managers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	got, want := parse(t, "--config="+write(t, block)).Options, NewOptions().Options
	if got.Leader.Renew != 10*time.Second || got.Leader.Retry != 2*time.Second || got.TLS.MinVersion != "VersionTLS12" {
		t.Errorf("got %+v", got)
	}
	want.Leader.Elect, want.Leader.Namespace, want.Leader.Renew, want.Leader.Retry = true, "jobset-system", 10*time.Second, 2*time.Second
	want.TLS.MinVersion, want.Webhooks = "VersionTLS12", true
	ignored := cmp.Options{cmpopts.IgnoreFields(bootstrap.Options{}, "ConfigFile", "Zap", "Registry"), cmpopts.IgnoreUnexported(bootstrap.Options{})}
	if diff := cmp.Diff(want, got, ignored); diff != "" {
		t.Error(diff)
	}
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
