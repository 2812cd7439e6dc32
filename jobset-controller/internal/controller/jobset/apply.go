package jobset

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// FieldManager of what the controller applies to the status.
const FieldManager = "jobset-controller"

// ownConditions are the types that this controller writes. All others belong to other programs, such as the orchestrator.
var ownConditions = []v1alpha2.JobSetConditionType{
	v1alpha2.JobSetCompleted,
	v1alpha2.JobSetFailed,
	v1alpha2.JobSetSuspended,
	v1alpha2.JobSetRestarting,
	v1alpha2.JobSetStartupPolicyInProgress,
	v1alpha2.JobSetStartupPolicyCompleted,
	v1alpha2.JobSetAccepted,
	v1alpha2.JobSetRunning,
	v1alpha2.JobSetRestartingJobs,
	v1alpha2.JobSetRestartingInPlace,
}

// applyStatus writes our part of the status by server-side apply, onto the version that was observed. Conditions of others stay
// theirs, because the list is keyed by type and we apply only our own.
func (r *Reconciler) applyStatus(ctx context.Context, js *v1alpha2.JobSet, status *v1alpha2.JobSetStatus) error {
	ours := status.DeepCopy()
	ours.Conditions = slices.DeleteFunc(ours.Conditions, isForeign)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ours)
	if err != nil {
		return fmt.Errorf("converting the status: %w", err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"status": fields}}
	object.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind("JobSet"))
	object.SetNamespace(js.Namespace)
	object.SetName(js.Name)
	object.SetUID(js.UID)
	object.SetResourceVersion(js.ResourceVersion)
	return r.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
		client.FieldOwner(FieldManager), client.ForceOwnership)
}

func isForeign(c metav1.Condition) bool {
	return !slices.Contains(ownConditions, v1alpha2.JobSetConditionType(c.Type))
}
