package webhook

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
)

// +kubebuilder:webhook:path=/mutate-jobset-x-k8s-io-v1alpha2-jobset,mutating=true,failurePolicy=fail,sideEffects=None,groups=jobset.x-k8s.io,resources=jobsets,verbs=create;update,versions=v1alpha2,name=mjobset.kb.io,admissionReviewVersions=v1,serviceName=jobset-webhook-service

// defaults sets the defaults of the published webhook, because its clients read them. The controller itself does not need them.
type defaults struct{}

// Default sets the defaults of a new JobSet. If its manifest is a copy of another JobSet, Default drops what programs wrote on that
// one. In an update it restores what the client has dropped without knowing it.
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

// restore restores what the client has dropped because its types lack it, and what programs wrote if the manifest of another JobSet
// was applied.
func restore(raw []byte, js *v1alpha2.JobSet) error {
	var old v1alpha2.JobSet
	if err := yaml.Unmarshal(raw, &old); err != nil {
		return fmt.Errorf("reading the JobSet as it was: %w", err)
	}
	carriedBy(&old.Spec).giveBack(&js.Spec)
	if provenance.Copied(js.Annotations, old.UID) {
		provenance.Restore(js.Annotations, old.Annotations)
	}
	return nil
}
