package app

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// Configuration is the content of --config: what all managers share, and the keys of the published operator's ConfigMap. Both may be in
// one file. Keys that are not known are warned of and ignored, as there are files with keys of versions past.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	AppWrapper        *settings.AppWrapper `json:"appwrapper,omitempty"`
	CertManagement    certManagement       `json:"certManagement,omitempty"`
	ControllerManager controllerManager    `json:"controllerManager,omitempty"`
	WebhooksEnabled   *bool                `json:"webhooksEnabled,omitempty"`
}

type certManagement struct {
	Namespace                   *string `json:"namespace,omitempty"`
	CertificateDir              *string `json:"certificateDir,omitempty"`
	CertificateName             *string `json:"certificateName,omitempty"`
	CertificateOrg              *string `json:"certificateOrg,omitempty"` // the authority's name stands for it
	MutatingWebhookConfigName   *string `json:"mutatingWebhookConfigName,omitempty"`
	ValidatingWebhookConfigName *string `json:"validatingWebhookConfigName,omitempty"`
	WebhookServiceName          *string `json:"webhookServiceName,omitempty"`
	WebhookSecretName           *string `json:"webhookSecretName,omitempty"`
}

type controllerManager struct {
	Metrics        address `json:"metrics,omitempty"`
	Health         address `json:"health,omitempty"`
	LeaderElection *bool   `json:"leaderElection,omitempty"`
	EnableHTTP2    *bool   `json:"enableHTTP2,omitempty"` // never on
}

type address struct {
	BindAddress *string `json:"bindAddress,omitempty"`
}

// read the file over the defaults. warnings are keys that are not known.
func read(path string) (c Configuration, warnings []error, err error) {
	c.AppWrapper = ptr.To(settings.Default())
	if path == "" {
		return c, nil, nil
	}
	if warnings, err = bootstrap.ReadLooseConfig(path, &c); err != nil {
		return c, nil, err
	}
	if c.AppWrapper == nil {
		c.AppWrapper = ptr.To(settings.Default())
	}
	return c, warnings, nil
}

// shared puts the published keys where those of all managers are, unless these are there too.
func (c Configuration) shared() bootstrap.Config {
	out := c.Config
	fill(&out.Metrics.BindAddress, c.ControllerManager.Metrics.BindAddress)
	fill(&out.Health.HealthProbeBindAddress, c.ControllerManager.Health.BindAddress)
	fill(&out.LeaderElection.LeaderElect, c.ControllerManager.LeaderElection)
	fill(&out.Webhook.CertDir, c.CertManagement.CertificateDir)
	fill(&out.InternalCertManagement.WebhookServiceName, c.CertManagement.WebhookServiceName)
	fill(&out.InternalCertManagement.WebhookSecretName, c.CertManagement.WebhookSecretName)
	return out
}

func fill[T any](target **T, value *T) {
	if *target == nil {
		*target = value
	}
}
