package orchestrator

import (
	"context"
	"errors"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// Credentials keeps the store's user of a group, given its owner; see credentials.Keeper.
type Credentials interface {
	Keep(ctx context.Context, owner client.Object, save credentials.Save) error
}

// keepUser sees to the credentials of a JobSet that asks for in-place restarts, before anything else, for its pods wait for
// their Secret. It returns the JobSet as it is then.
func (r *Reconciler) keepUser(ctx context.Context, js *v1alpha2.JobSet) (*v1alpha2.JobSet, error) {
	if r.Users == nil || !hasUser(js) {
		return js, nil
	}
	owner, err := keepUserOf(ctx, r.Users, r.Client, js)
	return owner.(*v1alpha2.JobSet), err
}

// keepUserOf is keepUser for any owner.
func keepUserOf(ctx context.Context, users Credentials, c client.Client, owner client.Object) (client.Object, error) {
	err := users.Keep(ctx, owner, func(record credentials.Record) (err error) {
		owner, err = annotated(ctx, c, owner, map[string]string{credentials.Annotation: record.Format()})
		return err
	})
	var unreachable *credentials.StoreError
	if errors.As(err, &unreachable) {
		return owner, storeFailed(err)
	}
	return owner, err
}

func hasUser(js *v1alpha2.JobSet) bool {
	over := js.Status.TerminalState != "" || !js.DeletionTimestamp.IsZero()
	ours := ptr.Deref(js.Spec.ManagedBy, v1alpha2.JobSetControllerName) == v1alpha2.JobSetControllerName
	return policy.ReadInPlace(js.Annotations).Enabled && !over && ours
}
