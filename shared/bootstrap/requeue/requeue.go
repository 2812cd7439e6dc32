// Package requeue decides when an object is reconciled again.
package requeue

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Stale is the delay before an object is reconciled again if its cached copy is probably stale. Usually an event arrives earlier.
const Stale = 200 * time.Millisecond

// Soonest returns the shorter of two delays. 0 means never.
func Soonest(a, b time.Duration) time.Duration {
	if a <= 0 || b <= 0 {
		return max(0, a, b)
	}
	return min(a, b)
}

// OnError returns the result of a reconcile that ends with an error: a conflict means that the cached copy is stale, and if the object was
// deleted, there is nothing left to do.
func OnError(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: Stale}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// IsCurrent reports whether the API server still has this version of an object of the given kind. A decision about an older version must not
// be carried out, because it could affect a newer state.
func IsCurrent(ctx context.Context, live client.Reader, kind schema.GroupVersionKind, o client.Object) (bool, error) {
	latest := &metav1.PartialObjectMetadata{}
	latest.SetGroupVersionKind(kind)
	if err := live.Get(ctx, client.ObjectKeyFromObject(o), latest); err != nil {
		return false, client.IgnoreNotFound(fmt.Errorf("getting the live %s: %w", kind.Kind, err))
	}
	return latest.UID == o.GetUID() && latest.ResourceVersion == o.GetResourceVersion(), nil
}
