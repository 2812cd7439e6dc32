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

// retryUser is how soon creating the user of a group is retried.
const retryUser = 5 * time.Second

// keepUser creates or renews the credentials of an owner that asks for in-place restarts. It returns the updated owner, and when to
// reconcile again, or 0 without an error.
//
// If a quota or a webhook refuses the Secret, the group is still led: new pods wait for the Secret, and running workers are restarted
// and replaced. keepUser logs such an error. It does not return it, because the queue would back off longer and longer, and a restart
// has a deadline. It returns the errors that end the reconcile: the store is unreachable, or the owner has changed.
func (r *Reconciler) keepUser(ctx context.Context, owner client.Object) (client.Object, time.Duration, error) {
	if r.Users == nil || !r.Kind.Asks(owner) {
		return owner, 0, nil
	}
	err := r.Users.Keep(ctx, owner, func(record credentials.Record) (err error) {
		owner, err = annotated(ctx, r.Client, owner, map[string]string{credentials.Annotation: record.Format()})
		return err
	})
	switch {
	case errors.As(err, new(*credentials.StoreError)):
		return owner, 0, r.storeFailed(err)
	case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return owner, 0, err
	}
	log.FromContext(ctx).Error(err, "creating store credentials failed, continuing without rotation")
	return owner, retryUser, nil
}
