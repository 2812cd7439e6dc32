package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// Credentials keeps the store's user of a JobSet; see credentials.Keeper.
type Credentials interface {
	Keep(ctx context.Context, js *v1alpha2.JobSet, save credentials.Save) error
}

// keepUser sees to the credentials of a JobSet that asks for in-place restarts, before anything else, for its pods wait for
// their Secret. It returns the JobSet as it is then.
func (r *Reconciler) keepUser(ctx context.Context, js *v1alpha2.JobSet) (*v1alpha2.JobSet, error) {
	if r.Users == nil || !hasUser(js) {
		return js, nil
	}
	err := r.Users.Keep(ctx, js, func(record credentials.Record) error {
		next := js.DeepCopy()
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[credentials.Annotation] = record.Format()
		patch := client.MergeFromWithOptions(js, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, next, patch, client.FieldOwner(FieldManager)); err != nil {
			return fmt.Errorf("annotating the JobSet: %w", err)
		}
		js = next
		return nil
	})
	var unreachable *credentials.StoreError
	if errors.As(err, &unreachable) {
		return js, storeFailed(err)
	}
	return js, err
}

func hasUser(js *v1alpha2.JobSet) bool {
	over := js.Status.TerminalState != "" || !js.DeletionTimestamp.IsZero()
	ours := ptr.Deref(js.Spec.ManagedBy, v1alpha2.JobSetControllerName) == v1alpha2.JobSetControllerName
	return policy.ReadInPlace(js.Annotations).Enabled && !over && ours
}
