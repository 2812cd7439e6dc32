package webhook

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/validation"
)

// +kubebuilder:webhook:path=/validate-jobset-x-k8s-io-v1alpha2-jobset,mutating=false,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create;update,versions=v1alpha2,name=vjobset.kb.io,admissionReviewVersions=v1,serviceName=jobset-webhook-service

// RegisterJobSet serves the validation and the defaulting of JobSets, for a manager with these agents and features. live reads from
// the cluster.
func RegisterJobSet(mgr ctrl.Manager, live client.Reader, agents inject.Settings, features policy.Features) error {
	validator := jobSets{agents: agents, features: features, live: live}
	return ctrl.NewWebhookManagedBy(mgr, &v1alpha2.JobSet{}).WithValidator(validator).WithDefaulter(defaults{}).Complete()
}

// jobSets validates JobSets.
type jobSets struct {
	agents   inject.Settings
	features policy.Features
	live     client.Reader // nil if the cluster does not matter
}

// ValidateCreate rejects invalid JobSets.
func (v jobSets) ValidateCreate(ctx context.Context, js *v1alpha2.JobSet) (admission.Warnings, error) {
	errs, warnings := v.validate(js)
	claims, err := v.claims(ctx, js)
	if err != nil {
		return warnings, err
	}
	return warnings, invalid(js, append(errs, claims...))
}

// ValidateUpdate rejects forbidden changes, and faults that the update introduces. Existing faults do not matter: otherwise a
// JobSet that is older than a rule could not be finished or deleted.
func (v jobSets) ValidateUpdate(_ context.Context, old, js *v1alpha2.JobSet) (admission.Warnings, error) {
	before, saidBefore := v.validate(old)
	errs, warnings := v.validate(js)
	known := func(err *field.Error) bool {
		return slices.ContainsFunc(before, func(b *field.Error) bool { return b.Error() == err.Error() })
	}
	said := func(warning string) bool { return slices.Contains(saidBefore, warning) }
	errs = append(validation.Update(old, js, v.features), slices.DeleteFunc(errs, known)...)
	return slices.DeleteFunc(warnings, said), invalid(js, errs)
}

// ValidateDelete is never called.
func (jobSets) ValidateDelete(context.Context, *v1alpha2.JobSet) (admission.Warnings, error) {
	return nil, nil
}

func (v jobSets) validate(js *v1alpha2.JobSet) (field.ErrorList, admission.Warnings) {
	errs := validation.Of(js, v.features).All()
	problems, warnings := v.inPlace(js)
	return append(errs, problems...), append(warnings, validation.Warnings(js)...)
}

// inPlace rejects what prevents adding agents. A manager that adds no agents rejects nothing, and warns about it.
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
