package app

import (
	"flag"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Options is what the command line sets.
type Options struct {
	MetricsAddress string
	MetricsSecure  bool
	HealthAddress  string
	LeaderElect    bool
	LeaseNamespace string
	QPS            float32
	Burst          int
	Workers        int

	Zap zap.Options

	// registry of metrics; that of controller-runtime but in tests.
	registry prometheus.Registerer
}

// Flags registers the flags. --kubeconfig comes from controller-runtime.
func (o *Options) Flags(set *pflag.FlagSet) {
	o.registry = metrics.Registry
	set.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443", "address of the metrics endpoint; 0 turns it off")
	set.BoolVar(&o.MetricsSecure, "metrics-secure", true, "serve metrics by HTTPS, to those whom the cluster lets get /metrics")
	set.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 turns it off")
	set.BoolVar(&o.LeaderElect, "leader-elect", false, "let one of several managers act at a time")
	set.StringVar(&o.LeaseNamespace, "leader-election-namespace", os.Getenv("POD_NAMESPACE"),
		"namespace of the Lease (env POD_NAMESPACE); the pod's own if empty")
	set.Float32Var(&o.QPS, "kube-api-qps", 500, "requests per second to the API server")
	set.IntVar(&o.Burst, "kube-api-burst", 500, "burst of requests to the API server")
	set.IntVar(&o.Workers, "max-concurrent-reconciles", 8, "JobSets that are worked on at a time")
	goFlags := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(goFlags)
	o.Zap.BindFlags(goFlags)
	set.AddGoFlagSet(goFlags)
}

// Validate returns what is wrong with the options.
func (o *Options) Validate() error {
	switch {
	case o.Workers < 1:
		return fmt.Errorf("--max-concurrent-reconciles: %d is not 1 or more", o.Workers)
	case o.QPS <= 0:
		return fmt.Errorf("--kube-api-qps: %g is not above 0", o.QPS)
	case o.Burst < 1:
		return fmt.Errorf("--kube-api-burst: %d is not 1 or more", o.Burst)
	}
	return nil
}

func (o *Options) limit(c *rest.Config) *rest.Config {
	limited := rest.CopyConfig(c)
	limited.QPS, limited.Burst = o.QPS, o.Burst
	return limited
}
