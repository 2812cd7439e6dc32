package app

import (
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// leaseName is the Lease of the upstream controller. In the same namespace, the two controllers share this Lease and are
// never active at the same time. In different namespaces they have different Leases and would both be active, so one of
// them must be stopped before the other is started.
const leaseName = "6d4f6a47.jobset.x-k8s.io"

// configKind is the kind of the upstream controller's configuration, whose files are also accepted.
var configKind = schema.GroupVersionKind{Group: "config.jobset.x-k8s.io", Version: "v1alpha1", Kind: "Configuration"}

// Configuration is the content of the file given by --config.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	InPlace *inject.Settings `json:"inPlace,omitempty"`
}

// Options holds the settings from the command line and the configuration file.
type Options struct {
	bootstrap.Options

	Agents inject.Settings
}

func (o *Options) Flags(set *pflag.FlagSet) {
	o.Options.Flags(set)
	o.Agents.Flags(set, "JobSet")
}

// NewOptions returns the defaults of the upstream controller, except for features that require an installation:
// webhooks and leader election are disabled until a flag or a configuration file enables them.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults()}
	o.Leader.Name = leaseName
	o.ServeWebhooks("jobset")
	o.Gates = gates()
	return o
}

// Complete reads the configuration file, and returns an error that lists everything that is invalid.
func (o *Options) Complete(set *pflag.FlagSet) error {
	file := Configuration{Config: o.Config(), InPlace: &o.Agents}
	if o.ConfigFile != "" {
		// The upstream controller's defaults for a file of its kind: serve webhooks and use leader election.
		o.Webhooks = o.Webhooks || !set.Changed("webhooks")
		o.Leader.Elect = o.Leader.Elect || !set.Changed("leader-elect")
		if err := bootstrap.ReadConfig(o.ConfigFile, configKind, set, &file); err != nil {
			return err
		}
	}
	errs := o.Options.Complete(set, file.Config)
	if !o.Enabled(gateTLSOptions) {
		o.TLS = bootstrap.TLS{}
	}
	return bootstrap.Join(append(errs, o.Agents.Check()...))
}

// Feature gates of the upstream controller.
const (
	gateInPlaceRestart = "InPlaceRestart"
	gateRestartJob     = "RestartJob"
	gateElasticJobSet  = "ElasticJobSet"
	gateTLSOptions     = "TLSOptions"
)

// gates returns the feature gates with the upstream controller's defaults.
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
