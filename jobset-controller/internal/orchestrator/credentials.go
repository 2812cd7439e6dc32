package orchestrator

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
)

// keepUser sees to the credentials of an owner that asks for in-place restarts, and returns it as it is then.
func (r *Reconciler) keepUser(ctx context.Context, owner client.Object) (client.Object, error) {
	if r.Users == nil || !r.Kind.Asks(owner) {
		return owner, nil
	}
	err := r.Users.Keep(ctx, owner, func(record credentials.Record) (err error) {
		owner, err = annotated(ctx, r.Client, owner, map[string]string{credentials.Annotation: record.Format()})
		return err
	})
	if errors.As(err, new(*credentials.StoreError)) {
		return owner, r.storeFailed(err)
	}
	return owner, err
}

// retryUser is how soon it is tried again to give a group its user.
const retryUser = 5 * time.Second

// leadOn takes note of an error of keepUser that does not keep the group from being led, as when a quota or a webhook refuses the Secret: new
// pods wait for it, and those that run are restarted and replaced all the same. It returns when to reconcile again, 0 without an error. It returns
// the errors that end the reconcile: the store is unreachable, or the owner is not what it was. The first are not returned with the others,
// because the queue takes an error as a reason to wait ever longer, and the clock of a round does not.
func leadOn(ctx context.Context, err error) (time.Duration, error) {
	switch {
	case err == nil:
		return 0, nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), errors.As(err, new(*storeError)):
		return 0, err
	}
	log.FromContext(ctx).Error(err, "creating store credentials failed, continuing without rotation")
	return retryUser, nil
}
