package bootstrap

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Config is the part of a configuration file that all programs share. Each program embeds it in its own kind. Fields that are absent
// keep their defaults.
type Config struct {
	Webhook                WebhookConfig      `json:"webhook,omitempty"`
	LeaderElection         LeaderConfig       `json:"leaderElection,omitempty"`
	Metrics                MetricsConfig      `json:"metrics,omitempty"`
	Health                 HealthConfig       `json:"health,omitempty"`
	TLS                    TLSConfig          `json:"tls,omitempty"`
	InternalCertManagement CertificatesConfig `json:"internalCertManagement,omitempty"`
	ClientConnection       ClientConfig       `json:"clientConnection,omitempty"`
	FeatureGates           map[string]bool    `json:"featureGates,omitempty"`
}

// WebhookConfig configures the webhook server.
type WebhookConfig struct {
	Port    *int    `json:"port,omitempty"`
	Host    *string `json:"host,omitempty"`
	CertDir *string `json:"certDir,omitempty"`
}

// LeaderConfig has the fields of component-base, so that configuration files for upstream controllers can be read.
type LeaderConfig struct {
	LeaderElect       *bool            `json:"leaderElect,omitempty"`
	LeaseDuration     *metav1.Duration `json:"leaseDuration,omitempty"`
	RenewDeadline     *metav1.Duration `json:"renewDeadline,omitempty"`
	RetryPeriod       *metav1.Duration `json:"retryPeriod,omitempty"`
	ResourceLock      *string          `json:"resourceLock,omitempty"` // only leases
	ResourceName      *string          `json:"resourceName,omitempty"`
	ResourceNamespace *string          `json:"resourceNamespace,omitempty"`
}

// MetricsConfig configures the metrics endpoint.
type MetricsConfig struct {
	BindAddress *string `json:"bindAddress,omitempty"`
	CertDir     *string `json:"certDir,omitempty"`
}

// HealthConfig configures the probe endpoint. The names are paths.
type HealthConfig struct {
	HealthProbeBindAddress *string `json:"healthProbeBindAddress,omitempty"`
	ReadinessEndpointName  *string `json:"readinessEndpointName,omitempty"`
	LivenessEndpointName   *string `json:"livenessEndpointName,omitempty"`
}

// TLSConfig configures TLS for webhooks and metrics.
type TLSConfig struct {
	MinVersion   *string  `json:"minVersion,omitempty"`   // VersionTLS12 or VersionTLS13
	CipherSuites []string `json:"cipherSuites,omitempty"` // not with VersionTLS13
}

// CertificatesConfig determines whether the program creates its webhook certificate.
type CertificatesConfig struct {
	Enable             *bool   `json:"enable,omitempty"`
	WebhookServiceName *string `json:"webhookServiceName,omitempty"`
	WebhookSecretName  *string `json:"webhookSecretName,omitempty"`
}

// ClientConfig limits the requests to the API server.
type ClientConfig struct {
	QPS   *float32 `json:"qps,omitempty"`
	Burst *int     `json:"burst,omitempty"`
}

// ReadConfig is like ReadStrictConfig, but requires the file to have the given kind. into must embed metav1.TypeMeta and Config.
func ReadConfig(path string, kind schema.GroupVersionKind, into any) error {
	var meta metav1.TypeMeta
	if _, err := ReadLooseConfig(path, &meta); err != nil {
		return err
	}
	if meta.GroupVersionKind() != kind {
		return fmt.Errorf("--config %s: got apiVersion %q, kind %q; want apiVersion %s, kind %s",
			path, meta.APIVersion, meta.Kind, kind.GroupVersion(), kind.Kind)
	}
	return ReadStrictConfig(path, into)
}

// ReadLooseConfig reads a file without a kind, like those of upstream programs, into a struct that embeds Config. Unknown keys are
// returned instead of being treated as an error, because existing files may contain keys from earlier versions.
func ReadLooseConfig(path string, into any) (unknown []error, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	document, err := yaml.YAMLToJSONStrict(content)
	if err == nil {
		unknown, err = kjson.UnmarshalStrict(document, into)
	}
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, oneLine(err))
	}
	return unknown, nil
}

// ReadStrictConfig is like ReadLooseConfig, but returns an error for unknown keys, which may be misspelled. If path is empty, it
// does nothing.
func ReadStrictConfig(path string, into any) error {
	if path == "" {
		return nil
	}
	unknown, err := ReadLooseConfig(path, into)
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("--config %s: %w", path, Join(unknown))
	}
	return err
}

func oneLine(err error) error { return errors.New(strings.Join(strings.Fields(err.Error()), " ")) }

// Complete applies the settings of the configuration file that are not overridden by flags, and returns all errors. set is the
// parsed flag set.
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

// applyLeader applies leader election settings. If a flag sets the lease duration, the file's renewDeadline and retryPeriod are ignored,
// too, because they belong to the file's lease duration.
func (o *Options) applyLeader(c LeaderConfig, set *pflag.FlagSet) {
	put(&o.Leader.Elect, c.LeaderElect, set.Changed(flagLeaderElect))
	put(&o.Leader.Namespace, c.ResourceNamespace, set.Changed(flagLeaseNamespace))
	put(&o.Leader.Name, c.ResourceName, set.Changed(flagLeaseName))
	changed := set.Changed(flagLeaseDuration)
	putDuration(&o.Leader.Lease, c.LeaseDuration, changed)
	putDuration(&o.Leader.Renew, c.RenewDeadline, changed)
	putDuration(&o.Leader.Retry, c.RetryPeriod, changed)
}

// applyCertificates applies certificate settings. --webhook-cert-dir means that the certificate is provided externally.
func (o *Options) applyCertificates(c CertificatesConfig, set *pflag.FlagSet) {
	put(&o.Certificates.Internal, c.Enable, false)
	put(&o.Certificates.ServiceName, c.WebhookServiceName, false)
	put(&o.Certificates.SecretName, c.WebhookSecretName, false)
	if set.Changed(flagWebhookCertDir) {
		o.Certificates.Internal = false
	}
}

// put sets the value from the file unless a flag overrides it. An empty string counts as not set, because configuration files for
// upstream controllers contain empty strings.
func put[T comparable](target, value *T, overridden bool) {
	if value == nil || overridden {
		return
	}
	if text, is := any(*value).(string); is && text == "" {
		return
	}
	*target = *value
}

// putDuration is like put, but for durations; zero counts as not set.
func putDuration(target *time.Duration, value *metav1.Duration, overridden bool) {
	if value != nil && value.Duration != 0 {
		put(target, &value.Duration, overridden)
	}
}
