package app

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/jobset"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// Names of the published installation, on which other projects depend.
const (
	// leaseName is that of the published controller. In the same namespace the two share a Lease and never act at the same time. In
	// different namespaces they have different Leases and would both act, so one of them must be stopped before the other starts.
	leaseName         = "6d4f6a47.jobset.x-k8s.io"
	serviceName       = "jobset-webhook-service"
	secretName        = "jobset-webhook-server-cert"
	caName            = "jobset-ca"
	validatingWebhook = "jobset-validating-webhook-configuration"
	mutatingWebhook   = "jobset-mutating-webhook-configuration"
)

// configKind is that of the published controller, whose files can be read.
var configKind = schema.GroupVersionKind{Group: "config.jobset.x-k8s.io", Version: "v1alpha1", Kind: "Configuration"}

// Configuration is the content of the file --config.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	InPlace inject.Config `json:"inPlace,omitempty"`
}

// Options are the settings of the command line and of the configuration file.
type Options struct {
	bootstrap.Options

	Agents inject.Settings
}

// Flags registers the flags.
func (o *Options) Flags(set *pflag.FlagSet) {
	o.Options.Flags(set)
	o.Agents.Flags(set, "JobSet")
}

// NewOptions returns the defaults of the published controller, except for what requires an installation: webhooks and leader
// election are off until a flag or a configuration file enables them.
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

// Complete reads the configuration file, and returns everything that is invalid.
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

// flagWebhooks is a flag of package bootstrap.
const flagWebhooks = "webhooks"

// asPublished sets the defaults of the published controller for a file of its kind: it serves webhooks, and elects a leader.
func (o *Options) asPublished(set *pflag.FlagSet, file *Configuration) {
	if !set.Changed(flagWebhooks) {
		o.Webhooks = true
	}
	if file.LeaderElection.LeaderElect == nil {
		file.LeaderElection.LeaderElect = new(true)
	}
}

// Feature gates of the published controller.
const (
	gateInPlaceRestart = "InPlaceRestart"
	gateRestartJob     = "RestartJob"
	gateElasticJobSet  = "ElasticJobSet"
	gateTLSOptions     = "TLSOptions"
)

// gates returns the feature gates with the defaults of the published controller.
func gates() map[string]bootstrap.Gate {
	return map[string]bootstrap.Gate{
		gateInPlaceRestart: {PreRelease: bootstrap.Alpha},
		gateRestartJob:     {PreRelease: bootstrap.Alpha},
		gateElasticJobSet:  {PreRelease: bootstrap.Alpha},
		gateTLSOptions:     {Default: true, PreRelease: bootstrap.Beta},
	}
}

func (o *Options) features() policy.Features {
	return policy.Features{
		RestartJob:     o.Enabled(gateRestartJob),
		InPlaceRestart: o.Enabled(gateInPlaceRestart),
		ElasticJobSet:  o.Enabled(gateElasticJobSet),
	}
}

// podsOfAgents returns the cache that restartStrategy InPlaceRestart needs, or nil if the feature is off.
func (o *Options) podsOfAgents(ctx context.Context, mgr ctrl.Manager) (cache.Cache, error) {
	if !o.Enabled(gateInPlaceRestart) {
		return nil, nil
	}
	pods, err := jobset.NewPods(ctx, mgr, nil)
	if err != nil {
		return nil, fmt.Errorf("adding the pods of agents: %w", err)
	}
	return pods, nil
}
