package bootstrap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Config is the part of a configuration file that all programs share. Each program embeds it in its own kind. Fields that are absent or
// empty keep their defaults, because configuration files for upstream controllers contain empty ones.
type Config struct {
	Webhook                *Webhook        `json:"webhook,omitempty"`
	LeaderElection         LeaderConfig    `json:"leaderElection,omitempty"`
	Metrics                *Metrics        `json:"metrics,omitempty"`
	Health                 *Health         `json:"health,omitempty"`
	TLS                    *TLS            `json:"tls,omitempty"`
	InternalCertManagement *Certificates   `json:"internalCertManagement,omitempty"`
	ClientConnection       *Client         `json:"clientConnection,omitempty"`
	FeatureGates           map[string]bool `json:"featureGates,omitempty"`
}

// LeaderConfig has the fields of component-base, so that configuration files for upstream controllers can be read.
type LeaderConfig struct {
	*Leader
	LeaseDuration metav1.Duration `json:"leaseDuration,omitzero"`
	RenewDeadline metav1.Duration `json:"renewDeadline,omitzero"`
	RetryPeriod   metav1.Duration `json:"retryPeriod,omitzero"`
	ResourceLock  string          `json:"resourceLock,omitempty"` // only leases
}

// Config returns the part of a configuration file that sets these options when the file is read.
func (o *Options) Config() Config {
	return Config{
		Webhook: &o.Webhook, LeaderElection: LeaderConfig{Leader: &o.Leader}, Metrics: &o.Metrics, Health: &o.Health, TLS: &o.TLS,
		InternalCertManagement: &o.Certificates, ClientConnection: &o.Client,
	}
}

// ReadConfig is like ReadStrictConfig, but requires the file to have the given kind. into must embed metav1.TypeMeta and Config.
func ReadConfig(path string, kind schema.GroupVersionKind, set *pflag.FlagSet, into any) error {
	var meta metav1.TypeMeta
	if _, err := ReadLooseConfig(path, set, &meta); err != nil {
		return err
	}
	if meta.GroupVersionKind() != kind {
		return fmt.Errorf("--config %s: got apiVersion %q, kind %q; want apiVersion %s, kind %s",
			path, meta.APIVersion, meta.Kind, kind.GroupVersion(), kind.Kind)
	}
	return ReadStrictConfig(path, set, into)
}

// ReadLooseConfig reads a file without a kind, like those of upstream programs, into a struct that embeds Config. Flags that are set
// override the file. Unknown keys are returned instead of being treated as an error, because existing files may contain keys from earlier
// versions.
func ReadLooseConfig(path string, set *pflag.FlagSet, into any) (unknown []error, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	given := map[*pflag.Flag]string{}
	set.Visit(func(f *pflag.Flag) { given[f] = f.Value.String() })
	document, err := yaml.YAMLToJSONStrict(content)
	if err == nil {
		document, err = withoutEmptyTexts(document)
	}
	if err == nil {
		unknown, err = kjson.UnmarshalStrict(document, into)
	}
	for f, value := range given {
		if err == nil && f.Value.String() != value {
			err = f.Value.Set(value)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--config %s: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	return unknown, nil
}

// withoutEmptyTexts removes the fields that are set to an empty string.
func withoutEmptyTexts(document []byte) ([]byte, error) {
	var root any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(document, &root); err != nil {
		return nil, err
	}
	removeEmptyTexts(root)
	return json.Marshal(root)
}

func removeEmptyTexts(value any) {
	fields, _ := value.(map[string]any)
	maps.DeleteFunc(fields, func(_ string, field any) bool { return field == "" })
	for _, field := range fields {
		removeEmptyTexts(field)
	}
}

// ReadStrictConfig is like ReadLooseConfig, but returns an error for unknown keys, which may be misspelled. If path is empty, it
// does nothing.
func ReadStrictConfig(path string, set *pflag.FlagSet, into any) error {
	if path == "" {
		return nil
	}
	unknown, err := ReadLooseConfig(path, set, into)
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("--config %s: %w", path, Join(unknown))
	}
	return err
}

// Complete applies the settings in c that reading the configuration file did not apply directly, validates the options, and returns all
// errors. set is the parsed flag set.
func (o *Options) Complete(set *pflag.FlagSet, c Config) []error {
	errs := o.applyGates(c.FeatureGates)
	if lock := c.LeaderElection.ResourceLock; lock != "" && lock != "leases" {
		errs = append(errs, fmt.Errorf("leaderElection.resourceLock: %q is not supported, only leases", lock))
	}
	if !set.Changed(flagLeaseDuration) { // if the flag sets the lease duration, the file's other times do not match it
		l := &o.Leader // zero means not set
		l.Lease = cmp.Or(c.LeaderElection.LeaseDuration.Duration, l.Lease)
		l.Renew = cmp.Or(c.LeaderElection.RenewDeadline.Duration, l.Renew)
		l.Retry = cmp.Or(c.LeaderElection.RetryPeriod.Duration, l.Retry)
	}
	if set.Changed(flagWebhookCertDir) { // the certificate is provided externally
		o.Certificates.Internal = false
	}
	return append(errs, o.validate()...)
}
