package jobset

import (
	"context"
	"fmt"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// confirm reads the failed Jobs live, because a decision based on them cannot be revoked. The JobSet need not be read: the decision
// is written only if the JobSet has not changed since it was observed.
func (r *Reconciler) confirm(ctx context.Context, s *scope) (ctrl.Result, error) {
	if current, err := r.failuresAreCurrent(ctx, s); err != nil || !current {
		return ctrl.Result{RequeueAfter: staleRetry}, err
	}
	s.decided = true
	return ctrl.Result{}, nil
}

// failuresAreCurrent reports whether the failed Jobs still exist. If a failed Job was deleted since, its failure has been handled.
func (r *Reconciler) failuresAreCurrent(ctx context.Context, s *scope) (bool, error) {
	var over atomic.Bool
	err := parallel.Do(ctx, s.decision.Failures(), func(ctx context.Context, failed *batchv1.Job) error {
		current, err := r.failureIsCurrent(ctx, failed)
		if !current {
			over.Store(true)
		}
		return err
	})
	return err == nil && !over.Load(), err
}

func (r *Reconciler) failureIsCurrent(ctx context.Context, failed *batchv1.Job) (bool, error) {
	var live batchv1.Job
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(failed), &live); err != nil {
		return false, ignoreNotFound("getting job "+failed.Name, err)
	}
	return live.UID == failed.UID && policy.FailureOf(&live) != nil, nil
}

func ignoreNotFound(doing string, err error) error {
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
