package webhook

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// +kubebuilder:webhook:path=/validate-jobset-x-k8s-io-v1alpha2-jobset,mutating=false,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create;update,versions=v1alpha2,name=vjobset.kb.io,admissionReviewVersions=v1,serviceName=jobset-webhook-service

// RegisterJobSet serves the validation of JobSets.
func RegisterJobSet(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &v1alpha2.JobSet{}).WithValidator(jobSets{}).Complete()
}

// jobSets validates JobSets.
type jobSets struct{}

// ValidateCreate refuses what cannot be used.
func (jobSets) ValidateCreate(_ context.Context, js *v1alpha2.JobSet) (admission.Warnings, error) {
	return nil, invalid(js, annotations(js))
}

// ValidateUpdate refuses what this update brings in. What was there before is no obstacle: otherwise nobody could finish or
// delete a JobSet that is older than its rule.
func (jobSets) ValidateUpdate(_ context.Context, old, js *v1alpha2.JobSet) (admission.Warnings, error) {
	before, was := old.Annotations[v1alpha2.InPlaceTimeoutKey]
	after, is := js.Annotations[v1alpha2.InPlaceTimeoutKey]
	if was == is && before == after {
		return nil, nil
	}
	return nil, invalid(js, annotations(js))
}

// ValidateDelete is not asked.
func (jobSets) ValidateDelete(context.Context, *v1alpha2.JobSet) (admission.Warnings, error) {
	return nil, nil
}

// annotations that users set. The others are written by programs, which are not stopped by a value of the past.
func annotations(js *v1alpha2.JobSet) field.ErrorList {
	var errs field.ErrorList
	for _, p := range policy.ReadInPlace(js.Annotations).Problems {
		if p.Annotation == v1alpha2.InPlaceTimeoutKey {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "annotations").Key(p.Annotation), p.Value, p.Message))
		}
	}
	return errs
}

func invalid(js *v1alpha2.JobSet, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v1alpha2.GroupVersion.WithKind("JobSet").GroupKind(), js.Name, errs)
}
