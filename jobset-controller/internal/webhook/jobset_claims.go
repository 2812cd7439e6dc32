package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

// claims checks existing volume claims. They may be reused if they match the template and are not expected to be deleted with this
// JobSet. A JobSet whose name is not known yet has none.
func (v jobSets) claims(ctx context.Context, js *v1alpha2.JobSet) (field.ErrorList, error) {
	var errs field.ErrorList
	if v.live == nil || js.Name == "" {
		return nil, nil
	}
	for i := range js.Spec.VolumeClaimPolicies {
		policy := &js.Spec.VolumeClaimPolicies[i]
		path := field.NewPath("spec", "volumeClaimPolicies").Index(i)
		for j := range policy.Templates {
			found, err := v.claim(ctx, js, plan.ClaimName(policy.Templates[j].Name, js.Name))
			if err != nil {
				return nil, err
			}
			if found != nil {
				errs = append(errs, existing(path, j, policy, found)...)
			}
		}
	}
	return errs, nil
}

func (v jobSets) claim(ctx context.Context, js *v1alpha2.JobSet, name string) (*corev1.PersistentVolumeClaim, error) {
	var found corev1.PersistentVolumeClaim
	err := v.live.Get(ctx, client.ObjectKey{Namespace: js.Namespace, Name: name}, &found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting volume claim %s: %w", name, err)
	}
	return &found, nil
}

func existing(path *field.Path, template int, policy *v1alpha2.VolumeClaimPolicy, found *corev1.PersistentVolumeClaim) field.ErrorList {
	var errs field.ErrorList
	if !plan.Retains(policy) {
		errs = append(errs, field.Invalid(path.Child("retentionPolicy", "whenDeleted"), v1alpha2.RetentionPolicyDelete,
			fmt.Sprintf("retentionPolicy must be retain when PVC exists: %s", found.Name)))
	}
	// The API server and the binding of the claim have set what the template leaves open.
	if !equality.Semantic.DeepDerivative(policy.Templates[template].Spec, found.Spec) {
		at := path.Child("templates").Index(template).Child("spec")
		errs = append(errs, field.Forbidden(at, fmt.Sprintf("spec does not match existing PVC %s in namespace %s", found.Name, found.Namespace)))
	}
	return errs
}
