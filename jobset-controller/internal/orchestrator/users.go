package orchestrator

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

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

// retryUser is how soon it is tried again to give a group its user.
const retryUser = 5 * time.Second

// leadOn takes note of an error of keepUser that does not keep the group from being led, as when a quota or a webhook refuses the Secret: new
// pods wait for it, and those that run are restarted and replaced all the same. It returns when to look again, 0 without an error. It returns
// the errors that end the look: the store does not answer, or the owner is not what it was. The first are not returned with the others,
// because the queue takes an error as a reason to wait ever longer, and the clock of a round does not.
func leadOn(ctx context.Context, err error) (time.Duration, error) {
	switch {
	case err == nil:
		return 0, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), errors.As(err, new(*storeError)):
		return 0, err
	}
	log.FromContext(ctx).Error(err, "the agents' user of the store; the group is led on")
	return retryUser, nil
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

// hasUser reports whether a JobSet asks for in-place restarts, is ours and has not finished.
func hasUser(js *v1alpha2.JobSet) bool {
	over := js.Status.TerminalState != "" || !js.DeletionTimestamp.IsZero()
	ours := ptr.Deref(js.Spec.ManagedBy, v1alpha2.JobSetControllerName) == v1alpha2.JobSetControllerName
	return policy.ReadInPlace(js.Annotations).Enabled && !over && ours
}
