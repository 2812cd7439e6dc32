// Package webhook sets defaults on AppWrappers and rejects invalid ones, with field path and reason.
package webhook

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
)

// +kubebuilder:webhook:path=/mutate-workload-codeflare-dev-v1beta2-appwrapper,mutating=true,failurePolicy=fail,sideEffects=None,groups=workload.codeflare.dev,resources=appwrappers,verbs=create,versions=v1beta2,name=mappwrapper.kb.io,admissionReviewVersions=v1,serviceName=appwrapper-webhook-service
// +kubebuilder:webhook:path=/validate-workload-codeflare-dev-v1beta2-appwrapper,mutating=false,failurePolicy=fail,sideEffects=None,groups=workload.codeflare.dev,resources=appwrappers,verbs=create;update,versions=v1beta2,name=vappwrapper.kb.io,admissionReviewVersions=v1,serviceName=appwrapper-webhook-service
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Register registers both webhooks. reviews signs AppWrappers whose access was checked; nil turns the check off.
func Register(mgr ctrl.Manager, config settings.AppWrapper, reviews *review.Reviews) error {
	w := appWrappers{queue: config.DefaultQueueName, operator: config.FaultTolerance}
	if reviews != nil {
		clients, err := kubernetes.NewForConfig(mgr.GetConfig())
		if err != nil {
			return fmt.Errorf("preparing access reviews: %w", err)
		}
		w.reviews, w.access = reviews, &access{reviews: clients.AuthorizationV1().SubjectAccessReviews(), mapper: mgr.GetRESTMapper()}
	}
	return ctrl.NewWebhookManagedBy(mgr, &v1beta2.AppWrapper{}).WithDefaulter(w).WithValidator(w).Complete()
}

// appWrappers defaults and validates AppWrappers.
type appWrappers struct {
	queue    string // default queue; may be empty
	operator settings.FaultTolerance
	access   *access // nil: access is not checked
	reviews  *review.Reviews
}

// +kubebuilder:webhookconfiguration:mutating=true,name=appwrapper-mutating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=false,name=appwrapper-validating-webhook-configuration
