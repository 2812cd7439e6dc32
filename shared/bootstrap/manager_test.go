package bootstrap

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

func TestMetricsServer(t *testing.T) {
	o := Defaults()
	o.TLS.MinVersion = "VersionTLS13"
	change, err := o.TLS.change()
	if err != nil {
		t.Fatal(err)
	}
	secure := o.metricsServer(change)
	if !secure.SecureServing || secure.FilterProvider == nil {
		t.Error("metrics are served without authorization")
	}
	var config tls.Config
	for _, change := range secure.TLSOpts {
		change(&config)
	}
	if diff := cmp.Diff([]string{"http/1.1"}, config.NextProtos); diff != "" {
		t.Error(diff)
	}
	if config.MinVersion != tls.VersionTLS13 {
		t.Error("tls.minVersion has no effect")
	}
	o.Metrics.Secure = false
	if open := o.metricsServer(change); open.SecureServing || open.FilterProvider != nil {
		t.Error("--metrics-secure=false has no effect")
	}
}

func TestClusterCopiesTheConfig(t *testing.T) {
	var config rest.Config
	o := Defaults()
	own := o.cluster(&config, "jobset")
	if own.QPS != 500 || own.Burst != 500 || config.QPS != 0 || config.UserAgent != "" {
		t.Errorf("own %g and %d, the original %g", own.QPS, own.Burst, config.QPS)
	}
	if form := regexp.MustCompile(`^jobset/\S+ \(\w+/\w+\) \w+$`); !form.MatchString(own.UserAgent) {
		t.Errorf("User-Agent %q", own.UserAgent)
	}
}

func TestBuildInfoIsRegisteredOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		if err := registerBuildInfo(registry, "jobset"); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "holdfast_build_info" || families[0].GetMetric()[0].GetGauge().GetValue() != 1 {
		t.Errorf("got %v, %v", families, err)
	}
}

func TestRotatorNames(t *testing.T) {
	o := Defaults()
	o.Certificates = Certificates{Namespace: "ns", ServiceName: "svc", SecretName: "secret", CAName: "ca", Validating: []string{"v"}, Mutating: []string{"m"}}
	for host, want := range map[string][]string{"": nil, "10.0.0.1": nil, "localhost": {"localhost"}} {
		o.Webhook.Host = host
		r := o.rotator(nil)
		if diff := cmp.Diff(want, r.ExtraDNSNames); diff != "" || r.DNSName != "svc.ns.svc" || len(r.Webhooks) != 2 {
			t.Errorf("host %q: %s %s %v", host, diff, r.DNSName, r.Webhooks)
		}
	}
}

func TestWaitForCertificate(t *testing.T) {
	folder, ready := t.TempDir(), make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- waitForCertificate(t.Context(), folder, ready) }()
	select {
	case <-ready:
		t.Error("ready without a certificate")
	default:
	}
	if err := os.WriteFile(filepath.Join(folder, certificateFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ready:
		if err := <-ended; err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the certificate was not detected")
	}
}

// The API server's audit log identifies programs by their User-Agent, and a standby requests only the Lease.
func TestLeaseUserAgent(t *testing.T) {
	agents := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agents <- r.UserAgent()
		http.NotFound(w, r)
	}))
	defer server.Close()
	o := Defaults()
	o.Leader.Namespace, o.Leader.Name = "ns", "lease"
	lock, err := o.Leader.lock(o.cluster(&rest.Config{Host: server.URL}, "jobset"), "me")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := lock.Get(t.Context()); err == nil {
		t.Error("reading the Lease succeeded, want an error")
	}
	if agent := <-agents; !strings.HasPrefix(agent, "jobset/") {
		t.Errorf("the Lease was requested with User-Agent %q", agent)
	}
}
