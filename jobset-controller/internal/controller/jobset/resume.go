package jobset

import (
	"context"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

// resumeJobs lets suspended Jobs run whose turn it is, with the pod template as the JobSet has it now.
func (r *Reconciler) resumeJobs(ctx context.Context, s *scope) (ctrl.Result, error) {
	pairs := s.jobsToResume()
	var waiting atomic.Bool
	err := inParallel(ctx, pairs, func(ctx context.Context, p resumption) error {
		changed, differs := plan.Resume(p.current, p.desired)
		if differs && !templateIsMutable(p.current) {
			waiting.Store(true) // until the Job controller reports the Job as suspended
			return nil
		}
		return r.resumeJob(ctx, p.current, changed, differs)
	})
	s.settled = err == nil && !waiting.Load()
	if err != nil {
		r.report.warn(s.jobSet, jobUpdateFailed, "the JobSet is not resumed yet: "+err.Error())
	}
	return ctrl.Result{}, err
}

// resumption is a suspended Job and what it is to be.
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
	builder := s.builder()
	for i := range s.jobSet.Spec.ReplicatedJobs {
		entry := &s.jobSet.Spec.ReplicatedJobs[i]
		for index := range int(entry.Replicas) {
			if job := byName[plan.JobName(s.jobSet.Name, entry.Name, index)]; job != nil && s.gates[i] {
				pairs = append(pairs, resumption{current: job, desired: builder.Job(i, index)})
			}
		}
	}
	return pairs
}

// templateIsMutable states the API server's rule: no pods are left, and the Job was never started or is reported suspended.
func templateIsMutable(job *batchv1.Job) bool {
	return job.Status.Active == 0 && (job.Status.StartTime == nil || reportedSuspended(job))
}

func reportedSuspended(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobSuspended {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// resumeJob clears the start time first if the template changes: API servers before 1.36 allow that only for Jobs that were
// never started.
func (r *Reconciler) resumeJob(ctx context.Context, current, changed *batchv1.Job, templateDiffers bool) error {
	if templateDiffers && current.Status.StartTime != nil {
		unstarted := current.DeepCopy()
		unstarted.Status.StartTime = nil
		if err := r.client.Status().Patch(ctx, unstarted, withUID(current)); err != nil {
			return jobPatched(current, err)
		}
	}
	return r.patchJob(ctx, current, changed)
}
