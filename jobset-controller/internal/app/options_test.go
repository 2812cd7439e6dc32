package app

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
)

func parse(t *testing.T, args ...string) Options {
	t.Helper()
	var o Options
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFlags(t *testing.T) {
	got := parse(t, "--kubeconfig=a", "--metrics-bind-address=:1", "--metrics-secure=false", "--health-probe-bind-address=:2", "--leader-elect",
		"--leader-election-namespace=b", "--kube-api-qps=3", "--kube-api-burst=4", "--max-concurrent-reconciles=5", "--zap-log-level=debug")
	want := Options{MetricsAddress: ":1", HealthAddress: ":2", LeaderElect: true, LeaseNamespace: "b", QPS: 3, Burst: 4, Workers: 5}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Options{}, "Zap"), cmpopts.IgnoreUnexported(Options{})); diff != "" {
		t.Error(diff)
	}
}

func TestValidate(t *testing.T) {
	for flag, wanted := range map[string]string{
		"":                              "",
		"--max-concurrent-reconciles=0": "--max-concurrent-reconciles",
		"--kube-api-qps=0":              "--kube-api-qps",
		"--kube-api-burst=-1":           "--kube-api-burst",
	} {
		o := parse(t, strings.Fields(flag)...)
		err := o.Validate()
		if (err == nil) != (wanted == "") || err != nil && !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s: got %v", flag, err)
		}
	}
}

func TestLimitLeavesTheConfigAsItWas(t *testing.T) {
	var config rest.Config
	o := parse(t)
	if limited := o.limit(&config); limited.QPS != 500 || limited.Burst != 500 || config.QPS != 0 {
		t.Errorf("limited to %g and %d, the original to %g", limited.QPS, limited.Burst, config.QPS)
	}
}

func TestMetricsAreServedSecurelyAndWithoutHTTP2(t *testing.T) {
	secure := metricsOptions(parse(t))
	if !secure.SecureServing || secure.FilterProvider == nil {
		t.Error("metrics are open to everybody")
	}
	var config tls.Config
	for _, change := range secure.TLSOpts {
		change(&config)
	}
	if diff := cmp.Diff([]string{"http/1.1"}, config.NextProtos); diff != "" {
		t.Error(diff)
	}
	if open := metricsOptions(parse(t, "--metrics-secure=false")); open.SecureServing || open.FilterProvider != nil {
		t.Error("--metrics-secure=false has no effect")
	}
}
