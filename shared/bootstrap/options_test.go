package bootstrap

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

var testKind = schema.GroupVersionKind{Group: "test.holdfast.dev", Version: "v1", Kind: "Configuration"}

// testProgram is a minimal program that uses all features.
type testProgram struct {
	Options
	ran func(context.Context, *rest.Config) error
}

type testConfig struct {
	metav1.TypeMeta `json:",inline"`
	Config          `json:",inline"`
}

func newProgram() *testProgram {
	p := &testProgram{Options: Defaults()}
	p.Leader.Name = "test"
	p.Certificates.ServiceName, p.Certificates.SecretName = "service", "secret"
	p.Gates = map[string]Gate{"Free": {PreRelease: Alpha}, "Locked": {Default: true, LockToDefault: true}}
	return p
}

func (p *testProgram) Complete(set *pflag.FlagSet) error {
	file := testConfig{Config: p.Config()}
	if p.ConfigFile != "" {
		if err := ReadConfig(p.ConfigFile, testKind, set, &file); err != nil {
			return err
		}
	}
	return Join(p.Options.Complete(set, file.Config))
}

func (p *testProgram) Run(ctx context.Context, cluster *rest.Config) error {
	return p.ran(ctx, cluster)
}

// complete parses a configuration file with the given content and then the flags.
func complete(t *testing.T, file string, args ...string) (*testProgram, error) {
	t.Helper()
	t.Setenv("POD_NAMESPACE", "")
	p := newProgram()
	if file != "" {
		args = append(args, "--config="+write(t, "apiVersion: test.holdfast.dev/v1\nkind: Configuration\n"+file))
	}
	return p, Parse(pflag.NewFlagSet("test", pflag.ContinueOnError), p, args)
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const fullFile = `
webhook: {port: 1, host: localhost, certDir: /certs}
leaderElection: {leaderElect: true, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 3s, resourceLock: leases, resourceName: a, resourceNamespace: b}
metrics: {bindAddress: ":2", certDir: /metrics}
health: {healthProbeBindAddress: ":3", readinessEndpointName: /ready, livenessEndpointName: /live}
tls: {minVersion: VersionTLS12, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]}
internalCertManagement: {enable: false, webhookServiceName: c, webhookSecretName: d}
clientConnection: {qps: 4, burst: 5}
featureGates: {Free: true, Locked: true}
`

func TestFileSetsAllOptions(t *testing.T) {
	p, err := complete(t, fullFile)
	if err != nil {
		t.Fatal(err)
	}
	got := p.Options
	want := Options{
		Webhook:      Webhook{Host: "localhost", Port: 1, CertDir: "/certs"},
		Certificates: Certificates{ServiceName: "c", SecretName: "d"},
		Leader:       Leader{Elect: true, Namespace: "b", Name: "a", Lease: 30 * time.Second, Renew: 20 * time.Second, Retry: 3 * time.Second},
		Metrics:      Metrics{Address: ":2", Secure: true, CertDir: "/metrics"},
		Health:       Health{Address: ":3", Readiness: "/ready", Liveness: "/live"},
		Profiling:    "0",
		Client:       Client{QPS: 4, Burst: 5},
		TLS:          TLS{MinVersion: "VersionTLS12", CipherSuites: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}},
		Gates:        newProgram().Gates,
		Workers:      8,
		KindPatience: kindPatience, // not in the configuration file
	}
	got.ConfigFile, got.Zap, got.Registry = "", zap.Options{}, nil
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Options{})); diff != "" {
		t.Error(diff)
	}
	if !p.Enabled("Free") {
		t.Error("the gates in the file have no effect")
	}
}

func TestFlagsOverrideTheFile(t *testing.T) {
	p, err := complete(t, fullFile, "--webhook-port=9443", "--webhook-cert-dir=/flag", "--leader-elect=false", "--leader-election-namespace=f",
		"--leader-election-name=g", "--leader-election-lease-duration=8s", "--metrics-bind-address=:8443", "--health-probe-bind-address=0",
		"--kube-api-qps=500", "--kube-api-burst=500", "--max-concurrent-reconciles=9", "--metrics-secure=false", "--webhooks")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Webhook{Host: "localhost", Port: 9443, CertDir: "/flag"}, p.Webhook); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Leader{Namespace: "f", Name: "g", Lease: 8 * time.Second}, p.Leader); diff != "" {
		t.Error(diff)
	}
	if p.Metrics.Address != ":8443" || p.Metrics.Secure || p.Health.Address != "0" || p.Client != (Client{500, 500}) || p.Workers != 9 || !p.Webhooks {
		t.Errorf("got %+v", p.Options)
	}
	if renew, retry := p.Leader.renew(), p.Leader.retry(); renew != 8*time.Second*2/3 || retry != time.Second {
		t.Errorf("the file's times were kept although the flag sets the duration: %s, %s", renew, retry)
	}
}

func TestExternalCertificates(t *testing.T) {
	for name, tc := range map[string]struct {
		file     string
		args     []string
		internal bool
	}{
		"by default, the program creates its own":     {internal: true},
		"a folder in the file only sets the location": {file: "webhook: {certDir: /certs}", internal: true},
		"the flag means an external certificate":      {args: []string{"--webhook-cert-dir=/certs"}},
		"the flag overrides the file":                 {file: "internalCertManagement: {enable: true}", args: []string{"--webhook-cert-dir=/certs"}},
		"the file can disable it":                     {file: "internalCertManagement: {enable: false}"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := complete(t, tc.file, tc.args...)
			if err != nil || p.Certificates.Internal != tc.internal {
				t.Errorf("internal is %t, error %v", p.Certificates.Internal, err)
			}
		})
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		args []string
		want []string
	}{
		"two flags":                    {args: []string{"--kube-api-qps=0", "--max-concurrent-reconciles=0"}, want: []string{"--kube-api-qps", "--max-concurrent-reconciles"}},
		"a flag and a field":           {args: []string{"--kube-api-burst=0"}, file: "clientConnection: {qps: -1}", want: []string{"--kube-api-burst", "clientConnection.qps"}},
		"two unknown fields":           {file: "webhook: {prot: 1}\nmetric: {}", want: []string{`unknown field "webhook.prot"`, `unknown field "metric"`}},
		"a field twice":                {file: "metrics: {}\nmetrics: {}", want: []string{`"metrics" already set`}},
		"a field of wrong type":        {file: "webhook: {port: yes}", want: []string{"webhook.port"}},
		"wrong case":                   {file: "Webhook: {}", want: []string{`unknown field "Webhook"`}},
		"no YAML":                      {file: "a: b: c", want: []string{"yaml"}},
		"an unknown gate":              {file: "featureGates: {Nope: true}", want: []string{"--feature-gates (featureGates): unrecognized feature gate: Nope"}},
		"a locked gate":                {file: "featureGates: {Locked: false}", want: []string{"cannot set feature gate Locked to false, feature is locked to true"}},
		"another lock":                 {file: "leaderElection: {resourceLock: endpoints}", want: []string{`leaderElection.resourceLock: "endpoints"`}},
		"no namespace":                 {args: []string{"--leader-elect"}, want: []string{"--leader-election-namespace", "POD_NAMESPACE"}},
		"a short lease":                {args: []string{"--leader-elect", "--leader-election-namespace=a", "--leader-election-lease-duration=2s"}, want: []string{"--leader-election-lease-duration (leaderElection.leaseDuration): 2s is below 3s"}},
		"a late renewal":               {args: []string{"--leader-election-namespace=a"}, file: "leaderElection: {leaderElect: true, leaseDuration: 9s, renewDeadline: 9s}", want: []string{"renewDeadline: 9s"}},
		"a slow retry":                 {args: []string{"--leader-election-namespace=a"}, file: "leaderElection: {leaderElect: true, retryPeriod: 5s}", want: []string{"retryPeriod: 5s"}},
		"webhooks without a namespace": {args: []string{"--webhooks"}, want: []string{"--webhooks: the namespace of Service service is not known"}},
		"a port out of range":          {args: []string{"--webhooks", "--webhook-cert-dir=a", "--webhook-port=70000"}, want: []string{"--webhook-port (webhook.port): 70000"}},
		"an address":                   {args: []string{"--metrics-bind-address=8443", "--health-probe-bind-address="}, want: []string{`(metrics.bindAddress): "8443"`, `(health.healthProbeBindAddress): ""`}},
		"a path":                       {file: "health: {readinessEndpointName: ready}", want: []string{`health.readinessEndpointName: "ready"`}},
		"one path for both":            {file: "health: {readinessEndpointName: /healthz}", want: []string{"both endpoints are /healthz"}},
		"a TLS version":                {file: "tls: {minVersion: VersionTLS11}", want: []string{`tls.minVersion: "VersionTLS11"`}},
		"suites with TLS 1.3":          {file: "tls: {minVersion: VersionTLS13, cipherSuites: [A]}", want: []string{"tls.cipherSuites: must be empty with VersionTLS13"}},
		"an insecure suite":            {file: "tls: {cipherSuites: [TLS_RSA_WITH_RC4_128_SHA]}", want: []string{`tls.cipherSuites: "TLS_RSA_WITH_RC4_128_SHA"`}},
		"an unknown flag":              {args: []string{"--nope"}, want: []string{"unknown flag: --nope"}},
		"an argument":                  {args: []string{"start"}, want: []string{`unexpected argument "start"`}},
		"a missing file":               {args: []string{"--config=/nowhere/a.yaml"}, want: []string{"--config", "/nowhere/a.yaml", "no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := complete(t, tc.file, tc.args...)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not contain %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestFileOfAnotherKind(t *testing.T) {
	err := ReadConfig(write(t, "apiVersion: config.test/v1\nkind: Other\n"), testKind, &pflag.FlagSet{}, &testConfig{})
	if err == nil || !strings.Contains(err.Error(), `got apiVersion "config.test/v1", kind "Other"; want apiVersion test.holdfast.dev/v1, kind Configuration`) {
		t.Errorf("got %v", err)
	}
}
