package app

import (
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// Names of the published installation, which other projects wait for.
const (
	// leaseName is that of the published controller: in one namespace the two never act at the same time. In two they have two Leases, and
	// both act: so one has to end before the other starts.
	leaseName         = "6d4f6a47.jobset.x-k8s.io"
	serviceName       = "jobset-webhook-service"
	secretName        = "jobset-webhook-server-cert"
	caName            = "jobset-ca"
	validatingWebhook = "jobset-validating-webhook-configuration"
	mutatingWebhook   = "jobset-mutating-webhook-configuration"
)

// configKind is that of the published controller, whose files can be read.
var configKind = schema.GroupVersionKind{Group: "config.jobset.x-k8s.io", Version: "v1alpha1", Kind: "Configuration"}

// Configuration is the content of --config.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	InPlace inject.Config `json:"inPlace,omitempty"`
}

// Options is what the command line and the configuration file set.
type Options struct {
	bootstrap.Options

	Agents inject.Settings
}

// Flags registers the flags.
func (o *Options) Flags(set *pflag.FlagSet) {
	o.Options.Flags(set)
	o.Agents.Flags(set)
}

// NewOptions has the defaults of the published controller, but for what needs an installation: webhooks and leader election are
// off until a flag or a configuration file asks for them.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults()}
	o.Leader.Name = leaseName
	o.Certificates.ServiceName = serviceName
	o.Certificates.SecretName = secretName
	o.Certificates.CAName = caName
	o.Certificates.Validating = []string{validatingWebhook}
	o.Certificates.Mutating = []string{mutatingWebhook}
	o.Gates = gates()
	return o
}

// Complete reads the configuration file and returns all that is wrong.
func (o *Options) Complete(set *pflag.FlagSet) error {
	var file Configuration
	if o.ConfigFile != "" {
		if err := bootstrap.ReadConfig(o.ConfigFile, configKind, &file); err != nil {
			return err
		}
		o.asPublished(set, &file)
	}
	errs := o.Options.Complete(set, file.Config)
	if !o.Enabled(gateTLSOptions) {
		o.TLS = bootstrap.TLS{}
	}
	return bootstrap.Join(append(errs, o.Agents.Complete(set, file.InPlace)...))
}

// flagWebhooks is that of bootstrap.
const flagWebhooks = "webhooks"

// asPublished: who writes a file of the published kind expects the defaults of that controller. It serves webhooks,
// and elects a leader.
func (o *Options) asPublished(set *pflag.FlagSet, file *Configuration) {
	if !set.Changed(flagWebhooks) {
		o.Webhooks = true
	}
	if file.LeaderElection.LeaderElect == nil {
		file.LeaderElection.LeaderElect = new(true)
	}
}

// Logging is what the zap flags say.
func (o *Options) Logging() *zap.Options { return &o.Zap }
