package webhook

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Path is the URL path of the webhook.
const Path = "/mutate-v1-pod"

// +kubebuilder:webhook:path=/mutate-v1-pod,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=pods.rescheduler.holdfast.dev,admissionReviewVersions=v1,serviceName=rescheduler-webhook-service,timeoutSeconds=2,reinvocationPolicy=IfNeeded
// +kubebuilder:webhookconfiguration:mutating=true,name=rescheduler-mutating-webhook-configuration

// Register adds the handler to the manager's webhook server.
func Register(mgr ctrl.Manager, h *Handler) {
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: h})
}

// Counter returns a function that counts the results of a handler. Each counter starts at 0.
func Counter(registerer prometheus.Registerer) (func(result string), error) {
	answers := meter.CounterVec(series.Admissions)
	if err := registerer.Register(answers); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	meter.Zero(answers, []string{Unchanged}, []string{Excluded}, []string{Unknown})
	return func(result string) { answers.WithLabelValues(result).Inc() }, nil
}
