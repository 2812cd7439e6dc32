package jobset

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// suspendJobs stops the running Jobs. For a group with in-place restarts it writes the epoch first.
func (r *Reconciler) suspendJobs(ctx context.Context, s *scope) (ctrl.Result, error) {
	running := s.jobsToEmpty()
	if len(running) > 0 && s.inPlace.Enabled {
		opened, err := r.openEpoch(ctx, s, policy.SuspendCause(s.jobSet.Generation), s.charged())
		if err != nil || !opened {
			return ctrl.Result{RequeueAfter: staleRetry}, err
		}
	}
	var again ctrl.Result
	var err error
	s.settled, again, err = r.updateJobs(s, "the JobSet is not suspended yet", func() error { return r.emptyJobs(ctx, s, running) })
	return again, err
}

// emptyJobs removes the pods of Jobs. It deletes a Job that waits in a queue by itself, because the queue's manager would resume it
// immediately. That releases its quota, and a new Job waits when the JobSet is resumed.
func (r *Reconciler) emptyJobs(ctx context.Context, s *scope, running []*batchv1.Job) error {
	if s.queuesStages() {
		return r.deleteJobs(ctx, s, running)
	}
	return r.stopJobs(ctx, s, running)
}

// jobsToEmpty returns the running Jobs, and those that a queue may resume.
func (s *scope) jobsToEmpty() []*batchv1.Job {
	if s.queuesStages() {
		return append(s.activeJobs(false), s.activeJobs(true)...)
	}
	return s.activeJobs(false)
}

func (s *scope) queuesStages() bool { return plan.StageQueue(s.jobSet) != "" }

func (r *Reconciler) stopJobs(ctx context.Context, s *scope, running []*batchv1.Job) error {
	return parallel.Do(ctx, running, func(ctx context.Context, job *batchv1.Job) error {
		stopped := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}} // receives the response
		suspend := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"suspend":true}}`, job.UID))
		return r.jobPatched(s.jobSet, job, r.client.Patch(ctx, stopped, suspend))
	})
}

// finishEmptying stops running Jobs of an earlier epoch in a JobSet that is not suspended: after the epoch was written and before
// its Jobs were stopped, the JobSet was resumed or the process died. Their pods are fenced by then, so the group could never form
// with them. Once stopped, they are resumed in the current epoch like any other Job.
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
	_, again, err := r.updateJobs(s, "jobs of before the suspension still run", func() error { return r.emptyJobs(ctx, s, left) })
	return again, err
}

// activeJobs returns the active Jobs, and those with spares, that are suspended, or those that are not.
func (s *scope) activeJobs(suspended bool) []*batchv1.Job {
	var jobs []*batchv1.Job
	for _, job := range slices.Concat(s.jobs.Active, s.unfinishedSpares()) {
		if ptr.Deref(job.Spec.Suspend, false) == suspended && job.DeletionTimestamp.IsZero() {
			jobs = append(jobs, job)
		}
	}
	return jobs
}
