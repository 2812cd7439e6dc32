package jobset

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// deletePrevious deletes the Jobs that a recorded restart or full recreation has replaced.
func (r *Reconciler) deletePrevious(ctx context.Context, s *scope) (ctrl.Result, error) {
	_, again, err := r.updateJobs(s, "replaced jobs are not deleted yet", func() error { return r.deleteJobs(ctx, s, s.jobs.Previous) })
	return again, err
}

// deleteRemaining deletes the running Jobs of a finished JobSet. It keeps finished Jobs for their logs.
func (r *Reconciler) deleteRemaining(ctx context.Context, s *scope) (ctrl.Result, error) {
	spares, later := s.leftSpares(r.clock.Now())
	running := slices.DeleteFunc(slices.Concat(s.jobs.Previous, s.jobs.Active, spares), policy.Finished)
	_, again, err := r.updateJobs(s, "jobs that still run are not deleted yet", func() error { return r.deleteJobs(ctx, s, running) })
	return soonest(again, later), err
}

// deleteJobs deletes in the foreground: the Job exists until its pods are gone. Its successor, which has the same name and gives
// its pods the same names, is created after that.
func (r *Reconciler) deleteJobs(ctx context.Context, s *scope, jobs []*batchv1.Job) error {
	return parallel.Do(ctx, jobs, func(ctx context.Context, job *batchv1.Job) error {
		if !job.DeletionTimestamp.IsZero() {
			return nil
		}
		err := r.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground), exactly(job))
		if err == nil {
			r.wrote(s.jobSet)
		}
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // deleted, or replaced by a Job with another UID
		}
		return fmt.Errorf("deleting job %s: %w", job.Name, err)
	})
}
