package jobset

import (
	"context"
	"slices"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// suspendJobs stops the running Jobs. For a group with in-place restarts it writes the epoch first.
func (r *Reconciler) suspendJobs(ctx context.Context, s *scope) (ctrl.Result, error) {
	running := s.activeJobs(false)
	if s.queuesStages() { // a queue may resume Jobs that are already suspended
		running = append(running, s.activeJobs(true)...)
	}
	if len(running) > 0 && s.InPlace.Enabled {
		opened, err := r.openEpoch(ctx, s, policy.SuspendCause(s.jobSet.Generation), s.charged())
		if err != nil || !opened {
			return ctrl.Result{RequeueAfter: requeue.Stale}, err
		}
	}
	again, err := r.updateJobs(s, "the JobSet is not suspended yet", func() error { return r.emptyJobs(ctx, s, running) })
	s.settled = again.IsZero() && err == nil
	return again, err
}

// emptyJobs removes all pods of the given Jobs. A Job that is waiting in a queue individually is deleted, because the
// queue manager would otherwise resume it immediately. This releases its quota, and a new Job is queued when the JobSet
// is resumed.
func (r *Reconciler) emptyJobs(ctx context.Context, s *scope, running []*batchv1.Job) error {
	if s.queuesStages() {
		return r.deleteJobs(ctx, s, running)
	}
	return parallel.Do(ctx, running, func(ctx context.Context, job *batchv1.Job) error {
		stopped := job.DeepCopy()
		stopped.Spec.Suspend = ptr.To(true)
		return r.patchJob(ctx, s.jobSet, job, stopped)
	})
}

func (s *scope) queuesStages() bool { return plan.StageQueue(s.jobSet) != "" }

// finishEmptying stops running Jobs of an earlier generation in a JobSet that is not suspended. Such Jobs exist if the
// JobSet was resumed, or the process died, after the generation was written and before the Jobs were stopped. Their
// pods are fenced, so the group cannot form with them. Once stopped, the Jobs are resumed in the current generation
// like any other Job.
func (r *Reconciler) finishEmptying(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !s.InPlace.Enabled {
		return ctrl.Result{}, nil
	}
	left := slices.DeleteFunc(s.activeJobs(false), func(job *batchv1.Job) bool { return epoch.OfJob(job.Annotations) >= s.Epoch.Epoch })
	return r.updateJobs(s, "jobs from before the suspension are still running", func() error { return r.emptyJobs(ctx, s, left) })
}

// activeJobs returns either the suspended active Jobs or the others, including spare Jobs.
func (s *scope) activeJobs(suspended bool) []*batchv1.Job {
	return slices.DeleteFunc(slices.Concat(s.Jobs.Active, s.unfinishedSpares()), func(job *batchv1.Job) bool {
		return ptr.Deref(job.Spec.Suspend, false) != suspended || !job.DeletionTimestamp.IsZero()
	})
}

// resumeJobs resumes suspended Jobs that may start, with the current pod template of the JobSet. It does not resume
// Jobs that are waiting in a queue individually.
func (r *Reconciler) resumeJobs(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.queuesStages() {
		s.settled = true
		return ctrl.Result{}, nil
	}
	var waiting atomic.Bool
	again, err := r.updateJobs(s, "the JobSet is not resumed yet", func() error {
		return parallel.Do(ctx, s.jobsToResume(), func(ctx context.Context, p resumption) error {
			changed, differs := plan.Resume(p.current, p.desired)
			if differs && !templateIsMutable(p.current) {
				waiting.Store(true) // until the Job controller reports the Job as suspended
				return nil
			}
			return r.resumeJob(ctx, s.jobSet, p.current, changed, differs)
		})
	})
	s.settled = again.IsZero() && err == nil && !waiting.Load()
	return again, err
}

// resumption is a suspended Job and its desired state.
type resumption struct{ current, desired *batchv1.Job }

func (s *scope) jobsToResume() []resumption {
	suspended := s.activeJobs(true)
	if len(suspended) == 0 {
		return nil
	}
	byName := make(map[string]*batchv1.Job, len(suspended))
	for _, job := range suspended {
		byName[job.Name] = job
	}
	var pairs []resumption
	var name []byte
	builder := s.builder()
	for i := range s.jobSet.Spec.ReplicatedJobs {
		rjob := &s.jobSet.Spec.ReplicatedJobs[i]
		for index := range int(rjob.Replicas) {
			name = plan.AppendJobName(name[:0], s.jobSet.Name, rjob.Name, index)
			if job := byName[string(name)]; job != nil && s.gates[i] {
				pairs = append(pairs, resumption{current: job, desired: builder.Job(i, index)})
			}
		}
		if job := byName[plan.SparesName(s.jobSet.Name, rjob.Name)]; job != nil && !waitsByItself(job) && s.workersReady(i) {
			if desired := builder.Spares(i); desired != nil {
				pairs = append(pairs, resumption{current: job, desired: desired})
			}
		}
	}
	return pairs
}

// templateIsMutable reports whether the API server accepts a change to the Job's template: no pods are left, and the
// Job was never started or its status reports it as suspended.
func templateIsMutable(job *batchv1.Job) bool {
	return job.Status.Active == 0 && (job.Status.StartTime == nil || policy.ReportedSuspended(job))
}

// resumeJob resumes a Job in a single call if possible. API servers before 1.36 reject a template change for a Job that
// was ever started, so the start time is cleared first. The first rejection shows whether that is necessary.
func (r *Reconciler) resumeJob(ctx context.Context, js *v1alpha2.JobSet, current, changed *batchv1.Job, templateDiffers bool) error {
	started := templateDiffers && current.Status.StartTime != nil
	if !started || !r.clearsStartTime.Load() {
		if err := r.patchJob(ctx, js, current, changed); !started || !apierrors.IsInvalid(err) {
			return err
		}
		r.clearsStartTime.Store(true)
	}
	unstarted := current.DeepCopy()
	unstarted.Status.StartTime = nil
	if err := r.Client.Status().Patch(ctx, unstarted, withUID(current)); err != nil {
		return r.jobWritten(js, "patching", current, err)
	}
	return r.patchJob(ctx, js, current, changed)
}
