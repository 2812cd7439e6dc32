package app

import (
	"fmt"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// Names of the published installation.
const (
	// leaseName is that of the published controller: in one namespace the two never act at the same time. In two they have two Leases, and
	// both act: so one has to end before the other starts.
	leaseName         = "f134c674.codeflare.dev"
	serviceName       = "appwrapper-webhook-service"
	secretName        = "appwrapper-webhook-server-cert"
	caName            = "appwrapper-ca"
	mutatingWebhook   = "appwrapper-mutating-webhook-configuration"
	validatingWebhook = "appwrapper-validating-webhook-configuration"
)

// Options is what the command line and the configuration file set.
type Options struct {
	bootstrap.Options

	AppWrapper settings.AppWrapper
}

// NewOptions has the defaults of the published controller, apart from --webhooks: they are served when they are installed.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults(), AppWrapper: settings.Default()}
	o.Leader.Name = leaseName
	o.Certificates.ServiceName = serviceName
	o.Certificates.SecretName = secretName
	o.Certificates.CAName = caName
	o.Certificates.Validating = []string{validatingWebhook}
	o.Certificates.Mutating = []string{mutatingWebhook}
	return o
}

// Flags registers the flags.
func (o *Options) Flags(set *pflag.FlagSet) { o.Options.Flags(set) }

// Complete reads the configuration file and returns all that is wrong.
func (o *Options) Complete(set *pflag.FlagSet) error {
	file, warnings, err := read(o.ConfigFile)
	if err != nil {
		return err
	}
	o.Warnings, o.AppWrapper = warnings, *file.AppWrapper
	if file.WebhooksEnabled != nil && !set.Changed("webhooks") {
		o.Webhooks = *file.WebhooksEnabled
	}
	o.certificates(file.CertManagement)
	errs := o.Options.Complete(set, file.shared())
	if err := o.AppWrapper.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("appwrapper: %w", err))
	}
	return bootstrap.Join(errs)
}

func (o *Options) certificates(c certManagement) {
	put := func(target, value *string) {
		if value != nil {
			*target = *value
		}
	}
	put(&o.Certificates.Namespace, c.Namespace)
	put(&o.Certificates.CAName, c.CertificateName)
	put(&o.Certificates.Mutating[0], c.MutatingWebhookConfigName)
	put(&o.Certificates.Validating[0], c.ValidatingWebhookConfigName)
}

// reviews of access by the webhook; nil if nobody has to check it. With the check on and the webhooks off nothing new is created.
func (o *Options) reviews() *review.Reviews {
	if !o.AppWrapper.UserRBACAdmissionCheck {
		return nil
	}
	return review.With(o.Webhook.CertDir)
}

// Logging is what the zap flags say.
func (o *Options) Logging() *zap.Options { return &o.Zap }
