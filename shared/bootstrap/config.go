package bootstrap

import (
	"errors"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Config is the part of a configuration file that all programs share. Each embeds it in a kind of its own. What is not set
// leaves the default.
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

// WebhookConfig is where webhooks are served.
type WebhookConfig struct {
	Port    *int    `json:"port,omitempty"`
	Host    *string `json:"host,omitempty"`
	CertDir *string `json:"certDir,omitempty"`
}

// LeaderConfig has the fields of component-base, so that files of published controllers can be read.
type LeaderConfig struct {
	LeaderElect       *bool            `json:"leaderElect,omitempty"`
	LeaseDuration     *metav1.Duration `json:"leaseDuration,omitempty"`
	RenewDeadline     *metav1.Duration `json:"renewDeadline,omitempty"`
	RetryPeriod       *metav1.Duration `json:"retryPeriod,omitempty"`
	ResourceLock      *string          `json:"resourceLock,omitempty"` // only leases
	ResourceName      *string          `json:"resourceName,omitempty"`
	ResourceNamespace *string          `json:"resourceNamespace,omitempty"`
}

// MetricsConfig is the endpoint of metrics.
type MetricsConfig struct {
	BindAddress *string `json:"bindAddress,omitempty"`
	CertDir     *string `json:"certDir,omitempty"`
}

// HealthConfig is the endpoint of probes. The names are paths.
type HealthConfig struct {
	HealthProbeBindAddress *string `json:"healthProbeBindAddress,omitempty"`
	ReadinessEndpointName  *string `json:"readinessEndpointName,omitempty"`
	LivenessEndpointName   *string `json:"livenessEndpointName,omitempty"`
}

// TLSConfig is for webhooks and metrics.
type TLSConfig struct {
	MinVersion   *string  `json:"minVersion,omitempty"`   // VersionTLS12 or VersionTLS13
	CipherSuites []string `json:"cipherSuites,omitempty"` // not with VersionTLS13
}

// CertificatesConfig says whether the program makes the certificate of its webhooks.
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

// ReadConfig reads the file into a struct that embeds metav1.TypeMeta and Config. A field that the struct does not have is an
// error with its path, and so is a file of another kind.
func ReadConfig(path string, kind schema.GroupVersionKind, into any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	if err := decode(content, kind, into); err != nil {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	return nil
}

// ReadLooseConfig reads a file of published programs that had no kind, into a struct that embeds Config. unknown are the keys that the
// struct does not have: files in the field have those of versions past.
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

func decode(content []byte, kind schema.GroupVersionKind, into any) error {
	document, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return oneLine(err)
	}
	var meta metav1.TypeMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(document, &meta); err != nil {
		return err
	}
	if meta.GroupVersionKind() != kind {
		return fmt.Errorf("it is of %q %q, want apiVersion: %s, kind: %s", meta.APIVersion, meta.Kind, kind.GroupVersion(), kind.Kind)
	}
	unknown, err := kjson.UnmarshalStrict(document, into)
	if err != nil {
		return err
	}
	return Join(unknown)
}

func oneLine(err error) error { return errors.New(strings.Join(strings.Fields(err.Error()), " ")) }
