package jobset

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// suspendJobs stops the Jobs that run. For a group with in-place restarts the epoch goes first.
func (r *Reconciler) suspendJobs(ctx context.Context, s *scope) (ctrl.Result, error) {
	running := s.activeJobs(false)
	if len(running) > 0 && s.inPlace.Enabled {
		opened, err := r.openEpoch(ctx, s, policy.SuspendCause(s.jobSet.Generation), s.charged())
		if err != nil || !opened {
			return ctrl.Result{RequeueAfter: staleRetry}, err
		}
	}
	err := r.stopJobs(ctx, running)
	s.settled = err == nil
	if err != nil {
		r.report.warn(s.jobSet, jobUpdateFailed, "the JobSet is not suspended yet: "+err.Error())
	}
	return ctrl.Result{}, err
}

func (r *Reconciler) stopJobs(ctx context.Context, running []*batchv1.Job) error {
	return inParallel(ctx, running, func(ctx context.Context, job *batchv1.Job) error {
		suspended := job.DeepCopy()
		suspended.Spec.Suspend = ptr.To(true)
		return r.patchJob(ctx, job, suspended)
	})
}

// finishEmptying stops the Jobs of an earlier epoch that still run in a JobSet that is not suspended: the epoch was written,
// and before its Jobs were stopped the JobSet was resumed, or this process died. Their pods are fenced by then, so the group
// could never form with them. Stopped, they are resumed into the current epoch like any other.
func (r *Reconciler) finishEmptying(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !s.inPlace.Enabled {
		return ctrl.Result{}, nil
	}
	var left []*batchv1.Job
	for _, job := range s.activeJobs(false) {
		if epoch.OfJob(job.Annotations) < s.epoch.Epoch {
			left = append(left, job)
		}
	}
	return ctrl.Result{}, r.stopJobs(ctx, left)
}

// activeJobs gives those that are suspended, or those that are not.
func (s *scope) activeJobs(suspended bool) []*batchv1.Job {
	var jobs []*batchv1.Job
	for _, job := range s.jobs.Active {
		if ptr.Deref(job.Spec.Suspend, false) == suspended && job.DeletionTimestamp.IsZero() {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// patchJob writes what differs, onto this very Job: its UID goes along and makes the API server refuse another one of the name.
func (r *Reconciler) patchJob(ctx context.Context, current, changed *batchv1.Job) error {
	return jobPatched(current, r.client.Patch(ctx, changed, withUID(current)))
}

func withUID(current *batchv1.Job) client.Patch {
	base := current.DeepCopy()
	base.UID = "" // so that the patch carries it
	return client.MergeFrom(base)
}

// jobPatched takes a Job that is gone or replaced for done.
func jobPatched(job *batchv1.Job, err error) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("patching job %s: %w", job.Name, err)
}
