package jobset

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

// resizeJobs sets the size of unfinished Jobs to the current size of their replicatedJob (feature gate ElasticJobSet).
func (r *Reconciler) resizeJobs(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !s.features.ElasticJobSet {
		return ctrl.Result{}, nil
	}
	specs := make(map[string]*batchv1.JobSpec, len(s.jobSet.Spec.ReplicatedJobs))
	for i := range s.jobSet.Spec.ReplicatedJobs {
		rjob := &s.jobSet.Spec.ReplicatedJobs[i]
		specs[rjob.Name] = &rjob.Template.Spec
	}
	var pairs []resumption
	for _, job := range s.jobs.Active {
		spec := specs[job.Labels[v1alpha2.ReplicatedJobNameKey]]
		if spec == nil || !job.DeletionTimestamp.IsZero() {
			continue
		}
		if desired, differs := plan.Resize(job, spec); differs {
			pairs = append(pairs, resumption{current: job, desired: desired})
		}
	}
	_, again, err := r.updateJobs(s, "not all jobs have their new size yet", func() error {
		return parallel.Do(ctx, pairs, func(ctx context.Context, p resumption) error { return r.patchJob(ctx, s.jobSet, p.current, p.desired) })
	})
	return again, err
}
