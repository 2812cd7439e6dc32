package jobset

import (
	"context"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// resumeJobs resumes suspended Jobs that may start, with the current pod template of the JobSet. It does not resume Jobs that wait
// in a queue by themselves.
func (r *Reconciler) resumeJobs(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.queuesStages() {
		s.settled = true
		return ctrl.Result{}, nil
	}
	var waiting atomic.Bool
	resumed, again, err := r.updateJobs(s, "the JobSet is not resumed yet", func() error {
		return parallel.Do(ctx, s.jobsToResume(), func(ctx context.Context, p resumption) error {
			changed, differs := plan.Resume(p.current, p.desired)
			if differs && !templateIsMutable(p.current) {
				waiting.Store(true) // until the Job controller reports the Job as suspended
				return nil
			}
			return r.resumeJob(ctx, s.jobSet, p.current, changed, differs)
		})
	})
	s.settled = resumed && !waiting.Load()
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
	}
	return append(pairs, s.sparesToResume(builder, byName)...)
}

// templateIsMutable follows the API server's rule: no pods are left, and the Job was never started or is reported as suspended.
func templateIsMutable(job *batchv1.Job) bool {
	return job.Status.Active == 0 && (job.Status.StartTime == nil || policy.ReportedSuspended(job))
}

// resumeJob takes one call. API servers before 1.36 reject another template for a Job that was ever started, so the start time is
// cleared first. The first rejection shows whether that is needed.
func (r *Reconciler) resumeJob(ctx context.Context, js *v1alpha2.JobSet, current, changed *batchv1.Job, templateDiffers bool) error {
	started := templateDiffers && current.Status.StartTime != nil
	if started && r.clearsStartTime.Load() {
		return r.resumeUnstarted(ctx, js, current, changed)
	}
	err := r.patchJob(ctx, js, current, changed)
	if started && apierrors.IsInvalid(err) {
		r.clearsStartTime.Store(true)
		return r.resumeUnstarted(ctx, js, current, changed)
	}
	return err
}

func (r *Reconciler) resumeUnstarted(ctx context.Context, js *v1alpha2.JobSet, current, changed *batchv1.Job) error {
	unstarted := current.DeepCopy()
	unstarted.Status.StartTime = nil
	if err := r.client.Status().Patch(ctx, unstarted, withUID(current)); err != nil {
		return r.jobPatched(js, current, err)
	}
	return r.patchJob(ctx, js, current, changed)
}
