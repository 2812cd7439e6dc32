// Package app builds the rescheduler's manager: its flags, configuration file, caches, controllers and webhook.
package app

import (
	"fmt"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Configuration is the content of --config: the settings that all managers share, and the key rescheduling.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	Rescheduling *settings.Rescheduling `json:"rescheduling,omitempty"`
}

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

// Complete reads the configuration file and returns all errors in it.
func (o *Options) Complete(set *pflag.FlagSet) error {
	file := Configuration{Rescheduling: &o.Rescheduling} // the file is read over the defaults
	if err := bootstrap.ReadStrictConfig(o.ConfigFile, &file); err != nil {
		return err
	}
	errs := o.Options.Complete(set, file.Config)
	if err := o.Rescheduling.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("rescheduling: %w", err))
	}
	return bootstrap.Join(errs)
}
