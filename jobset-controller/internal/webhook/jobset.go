// Package webhook rejects invalid JobSets at admission, with the field path and the reason, and prepares the pods of
// exclusively placed JobSets.
package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/validation"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// +kubebuilder:webhook:path=/validate-jobset-x-k8s-io-v1alpha2-jobset,mutating=false,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create;update,versions=v1alpha2,name=vjobset.kb.io,admissionReviewVersions=v1,serviceName=jobset-webhook-service

// RegisterJobSet serves validation and defaulting of JobSets, for a manager with these agents and features. live reads
// from the API server.
func RegisterJobSet(mgr ctrl.Manager, live client.Reader, agents inject.Settings, features policy.Features) error {
	validator := jobSets{agents: agents, features: features, live: live}
	return ctrl.NewWebhookManagedBy(mgr, &v1alpha2.JobSet{}).WithValidator(validator).WithDefaulter(defaults{}).Complete()
}

type jobSets struct {
	bootstrap.NoValidation[*v1alpha2.JobSet]
	agents   inject.Settings
	features policy.Features
	live     client.Reader // nil to skip checks against the cluster
}

func (v jobSets) ValidateCreate(ctx context.Context, js *v1alpha2.JobSet) (admission.Warnings, error) {
	errs, warnings := v.validate(js)
	claims, err := v.claims(ctx, js)
	if err != nil {
		return warnings, err
	}
	return warnings, invalid(js, append(errs, claims...))
}

// ValidateUpdate rejects forbidden changes, and faults that the update introduces. It ignores existing faults.
// Otherwise, a JobSet that was created before a rule existed could not be finished or deleted.
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

func (v jobSets) validate(js *v1alpha2.JobSet) (field.ErrorList, admission.Warnings) {
	errs := validation.Of(js, v.features).All()
	problems, warnings := v.inPlace(js)
	return append(errs, problems...), append(warnings, validation.Warnings(js)...)
}

// inPlace rejects JobSets to which agents cannot be added. If the manager does not add agents, it rejects nothing and
// returns a warning.
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

// +kubebuilder:webhookconfiguration:mutating=false,name=jobset-validating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=true,name=jobset-mutating-webhook-configuration

// claims checks existing volume claims. The JobSet may reuse them if they match the template and the policy retains
// them. A JobSet whose name is not known yet has no claims.
func (v jobSets) claims(ctx context.Context, js *v1alpha2.JobSet) (field.ErrorList, error) {
	var errs field.ErrorList
	if v.live == nil || js.Name == "" {
		return nil, nil
	}
	for i := range js.Spec.VolumeClaimPolicies {
		policy := &js.Spec.VolumeClaimPolicies[i]
		path := field.NewPath("spec", "volumeClaimPolicies").Index(i)
		for j := range policy.Templates {
			var found corev1.PersistentVolumeClaim
			name := plan.ClaimName(policy.Templates[j].Name, js.Name)
			err := v.live.Get(ctx, client.ObjectKey{Namespace: js.Namespace, Name: name}, &found)
			switch {
			case err == nil:
				errs = append(errs, existing(path, j, policy, &found)...)
			case !apierrors.IsNotFound(err):
				return nil, fmt.Errorf("getting volume claim %s: %w", name, err)
			}
		}
	}
	return errs, nil
}

func existing(path *field.Path, template int, policy *v1alpha2.VolumeClaimPolicy, found *corev1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	if !plan.Retains(policy) {
		errs = append(errs, field.Invalid(path.Child("retentionPolicy", "whenDeleted"), v1alpha2.RetentionPolicyDelete,
			fmt.Sprintf("retentionPolicy must be retain when PVC exists: %s", found.Name)))
	}
	// Fields that the template leaves unset have been set by the API server and by the binding of the claim.
	if !equality.Semantic.DeepDerivative(policy.Templates[template].Spec, found.Spec) {
		at := path.Child("templates").Index(template).Child("spec")
		errs = append(errs, field.Forbidden(at, fmt.Sprintf("spec does not match existing PVC %s in namespace %s", found.Name, found.Namespace)))
	}
	return errs
}

// +kubebuilder:webhook:path=/mutate-jobset-x-k8s-io-v1alpha2-jobset,mutating=true,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create;update,versions=v1alpha2,name=mjobset.kb.io,admissionReviewVersions=v1,serviceName=jobset-webhook-service

// defaults sets the defaults of the upstream webhook, because its clients read them. The controller itself does not
// need them.
type defaults struct{}

// Default sets the defaults of a new JobSet. If its manifest is a copy of another JobSet, Default drops the annotations
// that programs wrote on the original. In an update, it restores fields that the client has dropped because its types
// lack them.
func (defaults) Default(ctx context.Context, js *v1alpha2.JobSet) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	if request.Operation == admissionv1.Update {
		if err := restore(request.OldObject.Raw, js); err != nil {
			return err
		}
		return note(js)
	}
	provenance.Drop(js.Annotations)
	fill(&js.Spec)
	return carry(js)
}

func fill(spec *v1alpha2.JobSetSpec) {
	spec.Network = policy.Network(spec)
	spec.SuccessPolicy = policy.SuccessPolicy(spec)
	spec.StartupPolicy = policy.StartupPolicy(spec)
	for i := range spec.ReplicatedJobs {
		plan.Defaults(&spec.ReplicatedJobs[i].Template.Spec)
	}
	if spec.FailurePolicy != nil {
		for i := range spec.FailurePolicy.Rules {
			spec.FailurePolicy.Rules[i].Name = policy.RuleName(spec.FailurePolicy.Rules, i)
		}
	}
	for i := range spec.VolumeClaimPolicies {
		if spec.VolumeClaimPolicies[i].RetentionPolicy == nil {
			spec.VolumeClaimPolicies[i].RetentionPolicy = &v1alpha2.VolumeRetentionPolicy{WhenDeleted: v1alpha2.RetentionPolicyDelete}
		}
	}
}

// restore restores fields that the client has dropped because its types lack them. It also restores annotations that
// programs wrote, if the manifest of another JobSet was applied.
func restore(raw []byte, js *v1alpha2.JobSet) error {
	var old v1alpha2.JobSet
	if err := yaml.Unmarshal(raw, &old); err != nil {
		return fmt.Errorf("reading the old JobSet: %w", err)
	}
	giveBack(&old.Spec, &js.Spec)
	if provenance.Copied(js.Annotations, old.UID) {
		provenance.Restore(js.Annotations, old.Annotations)
	}
	return nil
}

// carry restores parts of the spec that a copy made by MultiKueue lacks, and records parts that another copy would
// lack. MultiKueue creates its copies with the upstream types, which keep all annotations.
func carry(js *v1alpha2.JobSet) error {
	if text, found := js.Annotations[v1alpha2.CarriedSpecKey]; found && js.Labels[v1alpha2.MultiKueueOriginLabel] != "" {
		var carried v1alpha2.JobSetSpec
		if err := json.Unmarshal([]byte(text), &carried); err != nil {
			return fmt.Errorf("reading annotation %s, which only a webhook writes: %w", v1alpha2.CarriedSpecKey, err)
		}
		giveBack(&carried, &js.Spec)
	}
	return note(js)
}

// giveBack sets the carried parts that are missing from the spec. These parts of the spec are immutable, so they cannot
// have been removed intentionally.
func giveBack(from, to *v1alpha2.JobSetSpec) {
	if policy.InOrder(to) && from.StartupPolicy != nil && len(to.StartupPolicy.Rules) == 0 {
		to.StartupPolicy.Rules = from.StartupPolicy.Rules
	}
	if from.FailurePolicy == nil || to.FailurePolicy == nil {
		return
	}
	limits := map[string]*int32{}
	for _, rule := range from.FailurePolicy.Rules {
		limits[rule.Name] = rule.MaxRestarts
	}
	for i := range to.FailurePolicy.Rules {
		rule := &to.FailurePolicy.Rules[i]
		rule.MaxRestarts = cmp.Or(rule.MaxRestarts, limits[rule.Name])
	}
}

// note writes the policies to the annotation if they have parts that do not exist in the upstream types. Otherwise, it
// removes the annotation.
func note(js *v1alpha2.JobSet) error {
	startup, failure := js.Spec.StartupPolicy, js.Spec.FailurePolicy
	limits := func(rule v1alpha2.FailurePolicyRule) bool { return rule.MaxRestarts != nil }
	if (startup == nil || len(startup.Rules) == 0) && (failure == nil || !slices.ContainsFunc(failure.Rules, limits)) {
		delete(js.Annotations, v1alpha2.CarriedSpecKey)
		return nil
	}
	text, err := json.Marshal(v1alpha2.JobSetSpec{StartupPolicy: startup, FailurePolicy: failure})
	if err != nil {
		return fmt.Errorf("writing annotation %s: %w", v1alpha2.CarriedSpecKey, err)
	}
	metav1.SetMetaDataAnnotation(&js.ObjectMeta, v1alpha2.CarriedSpecKey, string(text))
	return nil
}
