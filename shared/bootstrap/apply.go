package bootstrap

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Complete puts the configuration file beneath the flags and returns all that is wrong then. set is that of Flags, parsed.
func (o *Options) Complete(set *pflag.FlagSet, c Config) []error {
	errs := o.applyGates(c.FeatureGates)
	if lock := c.LeaderElection.ResourceLock; lock != nil && *lock != "leases" {
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

func (o *Options) applyGates(wanted map[string]bool) []error {
	var errs []error
	gates := maps.Clone(o.Gates)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		gate, known := gates[name]
		switch on := wanted[name]; {
		case !known:
			errs = append(errs, fmt.Errorf("featureGates.%s: unknown; %s", name, o.knownGates()))
		case gate.Locked && on != gate.On:
			errs = append(errs, fmt.Errorf("featureGates.%s: this version has it at %t only", name, gate.On))
		default:
			gate.On = on
			gates[name] = gate
		}
	}
	o.Gates = gates
	return errs
}

func (o *Options) knownGates() string {
	if len(o.Gates) == 0 {
		return "there are none"
	}
	return "known are " + strings.Join(slices.Sorted(maps.Keys(o.Gates)), ", ")
}

func put[T any](target, value *T, overridden bool) {
	if value != nil && !overridden {
		*target = *value
	}
}

func putDuration(target *time.Duration, value *metav1.Duration, overridden bool) {
	if value != nil {
		put(target, &value.Duration, overridden)
	}
}
