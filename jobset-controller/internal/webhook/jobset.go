package webhook

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// +kubebuilder:webhook:path=/validate-jobset-x-k8s-io-v1alpha2-jobset,mutating=false,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create;update,versions=v1alpha2,name=vjobset.kb.io,admissionReviewVersions=v1,serviceName=jobset-webhook-service

// RegisterJobSet serves the validation of JobSets, by a manager that adds agents as set.
func RegisterJobSet(mgr ctrl.Manager, agents inject.Settings) error {
	return ctrl.NewWebhookManagedBy(mgr, &v1alpha2.JobSet{}).WithValidator(jobSets{agents}).Complete()
}

// jobSets validates JobSets.
type jobSets struct{ agents inject.Settings }

// ValidateCreate refuses what cannot be used.
func (v jobSets) ValidateCreate(_ context.Context, js *v1alpha2.JobSet) (admission.Warnings, error) {
	errs, warnings := v.validate(js)
	return warnings, invalid(js, errs)
}

// ValidateUpdate refuses what this update brings in. What was there before is no obstacle: otherwise nobody could finish or
// delete a JobSet that is older than its rule.
func (v jobSets) ValidateUpdate(_ context.Context, old, js *v1alpha2.JobSet) (admission.Warnings, error) {
	before, saidBefore := v.validate(old)
	errs, warnings := v.validate(js)
	known := func(err *field.Error) bool {
		return slices.ContainsFunc(before, func(b *field.Error) bool { return b.Error() == err.Error() })
	}
	said := func(warning string) bool { return slices.Contains(saidBefore, warning) }
	return slices.DeleteFunc(warnings, said), invalid(js, slices.DeleteFunc(errs, known))
}

// ValidateDelete is not asked.
func (jobSets) ValidateDelete(context.Context, *v1alpha2.JobSet) (admission.Warnings, error) {
	return nil, nil
}

func (v jobSets) validate(js *v1alpha2.JobSet) (field.ErrorList, admission.Warnings) {
	errs := annotations(js)
	problems, warnings := v.inPlace(js)
	return append(errs, problems...), warnings
}

// annotations that users set. The others are written by programs, which are not stopped by a value of the past.
func annotations(js *v1alpha2.JobSet) field.ErrorList {
	var errs field.ErrorList
	for _, p := range policy.ReadInPlace(js.Annotations).Problems {
		if p.Annotation == v1alpha2.InPlaceTimeoutKey || p.Annotation == v1alpha2.NodeLostAfterKey {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "annotations").Key(p.Annotation), p.Value, p.Message))
		}
	}
	return errs
}

// inPlace refuses what keeps agents from being added. A manager that adds none has nothing to refuse, and says so.
func (v jobSets) inPlace(js *v1alpha2.JobSet) (field.ErrorList, admission.Warnings) {
	if !policy.ReadInPlace(js.Annotations).Enabled {
		return nil, nil
	}
	assessment := inject.Assess(js)
	if lacks := v.agents.Lacks(assessment); lacks != "" {
		return nil, append(assessment.Warnings, lacks)
	}
	return assessment.Problems, assessment.Warnings
}

func invalid(js *v1alpha2.JobSet, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v1alpha2.GroupVersion.WithKind("JobSet").GroupKind(), js.Name, errs)
}
