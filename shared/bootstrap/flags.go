package bootstrap

import (
	"flag"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
)

// Names of flags that have a field in the configuration file.
const (
	flagWebhookPort    = "webhook-port"
	flagWebhookCertDir = "webhook-cert-dir"
	flagLeaderElect    = "leader-elect"
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

// Flags registers the flags; what the options are at that time is their default. --kubeconfig comes from controller-runtime.
func (o *Options) Flags(set *pflag.FlagSet) {
	set.StringVar(&o.ConfigFile, "config", o.ConfigFile, "configuration file; a flag that is set overrides it")
	o.webhookFlags(set)
	o.leaderFlags(set)
	set.StringVar(&o.Metrics.Address, flagMetricsAddress, o.Metrics.Address, "address of the metrics endpoint; 0 turns it off")
	set.BoolVar(&o.Metrics.Secure, "metrics-secure", o.Metrics.Secure, "serve metrics by HTTPS, to those whom the cluster lets get /metrics")
	set.StringVar(&o.Health.Address, flagHealthAddress, o.Health.Address, "address of /healthz and /readyz; 0 turns it off")
	set.StringVar(&o.Profiling, flagProfiling, o.Profiling, "address of /debug/pprof, which anybody may read who reaches it; 0 turns it off")
	set.Float32Var(&o.Client.QPS, flagQPS, o.Client.QPS, "requests per second to the API server")
	set.IntVar(&o.Client.Burst, flagBurst, o.Client.Burst, "burst of requests to the API server")
	set.IntVar(&o.Workers, flagWorkers, o.Workers, "objects that are worked on at a time")
	if len(o.Gates) > 0 {
		set.Var(&o.gateFlag, flagFeatureGates, o.gatesUsage())
	}
	goFlags := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(goFlags)
	o.Zap.BindFlags(goFlags)
	set.AddGoFlagSet(goFlags)
}

func (o *Options) webhookFlags(set *pflag.FlagSet) {
	if o.Certificates.ServiceName == "" {
		return // a program without webhooks
	}
	set.BoolVar(&o.Webhooks, "webhooks", o.Webhooks, "serve webhooks; not ready before their certificate is there")
	set.IntVar(&o.Webhook.Port, flagWebhookPort, o.Webhook.Port, "port of the webhooks")
	set.StringVar(&o.Webhook.CertDir, flagWebhookCertDir, o.Webhook.CertDir,
		"folder with tls.crt and tls.key that somebody else keeps, such as cert-manager; if it is not set, the program makes its own")
}

func (o *Options) leaderFlags(set *pflag.FlagSet) {
	set.BoolVar(&o.Leader.Elect, flagLeaderElect, o.Leader.Elect, "let one of several processes act at a time")
	set.StringVar(&o.Leader.Namespace, flagLeaseNamespace, o.Leader.Namespace, "namespace of the Lease (env POD_NAMESPACE)")
	set.StringVar(&o.Leader.Name, flagLeaseName, o.Leader.Name, "name of the Lease")
	set.DurationVar(&o.Leader.Lease, flagLeaseDuration, o.Leader.Lease, "how long a silent leader keeps the Lease")
}
