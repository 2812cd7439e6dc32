package bootstrap

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Complete puts the configuration file beneath the flags and returns all that is wrong then. set is that of Flags, parsed.
func (o *Options) Complete(set *pflag.FlagSet, c Config) []error {
	errs := o.applyGates(c.FeatureGates)
	if lock := c.LeaderElection.ResourceLock; lock != nil && *lock != "" && *lock != "leases" {
		errs = append(errs, fmt.Errorf("leaderElection.resourceLock: %q is not supported, only leases", *lock))
	}
	o.applyServers(c, set)
	o.applyLeader(c.LeaderElection, set)
	o.applyCertificates(c.InternalCertManagement, set)
	return append(errs, o.validate()...)
}

func (o *Options) applyServers(c Config, set *pflag.FlagSet) {
	put(&o.Webhook.Port, c.Webhook.Port, set.Changed(flagWebhookPort))
	put(&o.Webhook.Host, c.Webhook.Host, false)
	put(&o.Webhook.CertDir, c.Webhook.CertDir, set.Changed(flagWebhookCertDir))
	put(&o.Metrics.Address, c.Metrics.BindAddress, set.Changed(flagMetricsAddress))
	put(&o.Metrics.CertDir, c.Metrics.CertDir, false)
	put(&o.Health.Address, c.Health.HealthProbeBindAddress, set.Changed(flagHealthAddress))
	put(&o.Health.Readiness, c.Health.ReadinessEndpointName, false)
	put(&o.Health.Liveness, c.Health.LivenessEndpointName, false)
	put(&o.Client.QPS, c.ClientConnection.QPS, set.Changed(flagQPS))
	put(&o.Client.Burst, c.ClientConnection.Burst, set.Changed(flagBurst))
	put(&o.TLS.MinVersion, c.TLS.MinVersion, false)
	if c.TLS.CipherSuites != nil {
		o.TLS.CipherSuites = c.TLS.CipherSuites
	}
}

// applyLeader: renewDeadline and retryPeriod belong to the leaseDuration beside them; a flag that replaces it replaces them.
func (o *Options) applyLeader(c LeaderConfig, set *pflag.FlagSet) {
	put(&o.Leader.Elect, c.LeaderElect, set.Changed(flagLeaderElect))
	put(&o.Leader.Namespace, c.ResourceNamespace, set.Changed(flagLeaseNamespace))
	put(&o.Leader.Name, c.ResourceName, set.Changed(flagLeaseName))
	changed := set.Changed(flagLeaseDuration)
	putDuration(&o.Leader.Lease, c.LeaseDuration, changed)
	putDuration(&o.Leader.Renew, c.RenewDeadline, changed)
	putDuration(&o.Leader.Retry, c.RetryPeriod, changed)
}

// applyCertificates: whoever sets --webhook-cert-dir has the certificates.
func (o *Options) applyCertificates(c CertificatesConfig, set *pflag.FlagSet) {
	put(&o.Certificates.Internal, c.Enable, false)
	put(&o.Certificates.ServiceName, c.WebhookServiceName, false)
	put(&o.Certificates.SecretName, c.WebhookSecretName, false)
	if set.Changed(flagWebhookCertDir) {
		o.Certificates.Internal = false
	}
}

// put takes the value of the file. A text that is empty is not set, as in the files of published controllers.
func put[T comparable](target, value *T, overridden bool) {
	if value == nil || overridden {
		return
	}
	if text, is := any(*value).(string); is && text == "" {
		return
	}
	*target = *value
}

// putDuration: zero is not set either.
func putDuration(target *time.Duration, value *metav1.Duration, overridden bool) {
	if value != nil && value.Duration != 0 {
		put(target, &value.Duration, overridden)
	}
}
