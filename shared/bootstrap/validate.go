package bootstrap

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Join puts the problems on one line, so that one start reports all of them.
func Join(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
	}
	return errors.New(strings.Join(lines, "; "))
}

// problems collects what is wrong. Each names the flag and, if there is one, the field of the configuration file.
type problems []error

func (p *problems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (o *Options) validate() []error {
	var p problems
	p.when(o.Workers < 1, "--%s: %d is not 1 or more", flagWorkers, o.Workers)
	p.when(o.Client.QPS <= 0, "--%s (clientConnection.qps): %g is not above 0", flagQPS, o.Client.QPS)
	p.when(o.Client.Burst < 1, "--%s (clientConnection.burst): %d is not 1 or more", flagBurst, o.Client.Burst)
	p.address("--"+flagMetricsAddress+" (metrics.bindAddress)", o.Metrics.Address)
	p.address("--"+flagHealthAddress+" (health.healthProbeBindAddress)", o.Health.Address)
	p.address("--"+flagProfiling, o.Profiling)
	p.path("health.readinessEndpointName", o.Health.Readiness)
	p.path("health.livenessEndpointName", o.Health.Liveness)
	p.when(o.Health.Readiness == o.Health.Liveness, "health: both endpoints are %s", o.Health.Liveness)
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

func (p *problems) address(name, address string) {
	_, port, err := net.SplitHostPort(address)
	p.when(address != "0" && (err != nil || port == ""), "%s: %q is not host:port, :port or 0", name, address)
}

func (p *problems) path(name, path string) {
	p.when(!strings.HasPrefix(path, "/") || len(path) < 2, "%s: %q is not a path such as /readyz", name, path)
}

func (p *problems) webhooks(o *Options) {
	p.when(o.Webhook.Port < 1 || o.Webhook.Port > 65535, "--%s (webhook.port): %d is not from 1 to 65535", flagWebhookPort, o.Webhook.Port)
	p.when(o.Webhook.CertDir == "", "--%s (webhook.certDir) is empty", flagWebhookCertDir)
	c := o.Certificates
	if !c.Internal {
		return
	}
	p.when(c.Namespace == "", "--webhooks: the namespace of Service %s is not known: set POD_NAMESPACE, or give certificates by --%s",
		c.ServiceName, flagWebhookCertDir)
	p.when(c.ServiceName == "", "internalCertManagement.webhookServiceName is empty")
	p.when(c.SecretName == "", "internalCertManagement.webhookSecretName is empty")
}

// minimumLease: with less, a slow API server changes the leader.
const minimumLease = 3 * time.Second

func (p *problems) leader(l Leader) {
	p.when(l.Namespace == "", "--%s (leaderElection.resourceNamespace) is missing: give a namespace, or set POD_NAMESPACE", flagLeaseNamespace)
	p.when(l.Name == "", "--%s (leaderElection.resourceName) is missing", flagLeaseName)
	p.when(l.Lease < minimumLease, "--%s (leaderElection.leaseDuration): %s is below %s", flagLeaseDuration, l.Lease, minimumLease)
	p.when(l.Renew < 0 || l.renew() >= l.Lease, "leaderElection.renewDeadline: %s is not below the leaseDuration of %s", l.renew(), l.Lease)
	p.when(l.Retry < 0 || 2*l.retry() >= l.renew(), "leaderElection.retryPeriod: %s is not below half of the renewDeadline of %s", l.retry(), l.renew())
}
