package app

import (
	"fmt"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// Names in the cluster.
const (
	leaseName       = "rescheduler.holdfast.dev"
	serviceName     = "rescheduler-webhook-service"
	secretName      = "rescheduler-webhook-server-cert"
	caName          = "rescheduler-ca"
	mutatingWebhook = "rescheduler-mutating-webhook-configuration"
)

// Options are set by the command line and the configuration file.
type Options struct {
	bootstrap.Options

	Rescheduling settings.Rescheduling
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults(), Rescheduling: settings.Default()}
	o.Leader.Name = leaseName
	o.Certificates.ServiceName = serviceName
	o.Certificates.SecretName = secretName
	o.Certificates.CAName = caName
	o.Certificates.Mutating = []string{mutatingWebhook}
	return o
}

// Flags registers the flags.
func (o *Options) Flags(set *pflag.FlagSet) { o.Options.Flags(set) }

// Complete reads the configuration file and returns all errors in it.
func (o *Options) Complete(set *pflag.FlagSet) error {
	file, err := read(o.ConfigFile)
	if err != nil {
		return err
	}
	o.Rescheduling = *file.Rescheduling
	errs := o.Options.Complete(set, file.Config)
	if err := o.Rescheduling.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("rescheduling: %w", err))
	}
	return bootstrap.Join(errs)
}

// Logging returns the settings of the zap flags.
func (o *Options) Logging() *zap.Options { return &o.Zap }
