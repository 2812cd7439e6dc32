package jobset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

const (
	// maxCreates limits how many new Jobs a reconcile holds in memory. The events for the created Jobs trigger the next
	// reconcile.
	maxCreates = 5000
	// createRetry is the delay until the next reconcile if no such events arrive.
	createRetry = time.Second
)

// createJobs creates the missing Jobs that may start, once their volume claims exist.
func (r *Reconciler) createJobs(ctx context.Context, s *scope) (ctrl.Result, error) {
	policy := s.jobSet.Spec.FailurePolicy
	if policy != nil && policy.RestartStrategy == v1alpha2.BlockingRecreate && len(s.Jobs.Previous) > 0 {
		return ctrl.Result{}, nil // attempts never overlap
	}
	missing, again := r.missingJobs(s)
	if len(missing) == 0 {
		s.jobsExist = again.IsZero() && len(s.Jobs.Previous) == 0
		return again, nil
	}
	if result, err := r.ensureClaims(ctx, s); err != nil || !result.IsZero() {
		return soonest(again, result), err
	}
	if current, err := r.epochIsCurrent(ctx, s); err != nil || !current {
		return ctrl.Result{RequeueAfter: requeue.Stale}, err
	}
	errs := parallel.Each(ctx, missing, func(ctx context.Context, job *batchv1.Job) error { return r.createJob(ctx, s.jobSet, job) })
	retry, err := r.noteErrors(s, missing, errs)
	again = soonest(again, retry)
	if len(missing) >= maxCreates {
		again = soonest(again, ctrl.Result{RequeueAfter: createRetry})
	}
	s.jobsExist = err == nil && again.IsZero() && len(s.Jobs.Previous) == 0
	return again, err
}

// noteErrors reports the errors of Jobs that could not be created. It returns when to retry the replicatedJobs whose
// Jobs were rejected by the API server, and all other errors. For each replicatedJob, it reports only the first
// rejection, so that every reconcile reports the same Job.
func (r *Reconciler) noteErrors(s *scope, tried []*batchv1.Job, errs []error) (again ctrl.Result, err error) {
	names := make([]string, len(tried)) // names of the replicatedJobs; Jobs of the same replicatedJob are adjacent
	rejected := map[string]error{}
	for i, job := range tried {
		names[i] = job.Labels[v1alpha2.ReplicatedJobNameKey]
		if isRefusal(errs[i]) {
			rejected[names[i]], errs[i] = cmp.Or(rejected[names[i]], errs[i]), nil
		}
	}
	err = parallel.Join(errs)
	reported := []error{err}
	for _, rjob := range slices.Compact(names) {
		again = soonest(again, ctrl.Result{RequeueAfter: r.notBefore.refused(s.jobSet, jobsOf(rjob), rejected[rjob])})
		s.noteInvalid(rejected[rjob])
		reported = append(reported, rejected[rjob])
	}
	if all := errors.Join(reported...); all != nil {
		r.warn(s.jobSet, jobCreationFailed, all.Error())
	}
	return again, err
}

// noteInvalid keeps the first message in which the API server reports an invalid Job.
func (s *scope) noteInvalid(err error) {
	var status apierrors.APIStatus
	if s.refused == "" && apierrors.IsInvalid(err) && errors.As(err, &status) {
		s.refused = status.Status().Message
	}
}

// missingJobs builds the missing Jobs that have no predecessor. It skips Jobs whose predecessor is still being deleted,
// and Jobs of a replicatedJob that was recently rejected; again is when to retry those.
func (r *Reconciler) missingJobs(s *scope) (missing []*batchv1.Job, again ctrl.Result) {
	var name []byte // reused, because in most reconciles no Job is missing
	builder := s.builder()
	for i := range s.jobSet.Spec.ReplicatedJobs {
		rjob := &s.jobSet.Spec.ReplicatedJobs[i]
		if !s.gates[i] || s.Tallies[i].Succeeded >= rjob.Replicas {
			continue
		}
		wait, refused := r.notBefore.wait(s.jobSet, jobsOf(rjob.Name))
		for index := range int(rjob.Replicas) {
			if len(missing) == maxCreates {
				break
			}
			name = plan.AppendJobName(name[:0], s.jobSet.Name, rjob.Name, index)
			if s.Jobs.Names[string(name)] {
				continue
			}
			if wait > 0 {
				again = soonest(again, ctrl.Result{RequeueAfter: wait})
				s.noteInvalid(refused)
				break
			}
			missing = append(missing, builder.Job(i, index))
		}
		if spares := s.missingSpares(builder, i); spares != nil && wait == 0 {
			missing = append(missing, spares)
		}
	}
	return missing, again
}

// epochIsCurrent handles a cache in which the Jobs of a full recreation are already deleted, but its epoch is not
// visible yet. Jobs created at this point would have the old epoch and would be deleted again.
func (r *Reconciler) epochIsCurrent(ctx context.Context, s *scope) (bool, error) {
	if !s.InPlace.Enabled {
		return true, nil
	}
	var live v1alpha2.JobSet
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.jobSet), &live); err != nil {
		return false, ignoreNotFound("getting the live JobSet", err)
	}
	return live.Annotations[epoch.Annotation] == s.jobSet.Annotations[epoch.Annotation], nil
}

func (r *Reconciler) createJob(ctx context.Context, js *v1alpha2.JobSet, job *batchv1.Job) error {
	err := r.Client.Create(ctx, job)
	if apierrors.IsAlreadyExists(err) {
		return r.checkExisting(ctx, js, job.Name)
	}
	if err != nil {
		return fmt.Errorf("creating job %s: %w", job.Name, err)
	}
	r.wrote(js)
	return nil
}

// checkExisting returns no error if the Job belongs to this JobSet and has just not reached the cache yet.
func (r *Reconciler) checkExisting(ctx context.Context, js *v1alpha2.JobSet, name string) error {
	var existing batchv1.Job
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: js.Namespace, Name: name}, &existing)
	switch {
	case err != nil:
		return fmt.Errorf("getting job %s: %w", name, err)
	case !metav1.IsControlledBy(&existing, js):
		return fmt.Errorf("job %s %w; delete it or rename the JobSet", name, errForeign)
	}
	r.wrote(js)
	return nil
}

// resizeJobs sets the size of unfinished Jobs to the current size of their replicatedJob (ElasticJobSet feature gate).
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
	for _, job := range s.Jobs.Active {
		spec := specs[job.Labels[v1alpha2.ReplicatedJobNameKey]]
		if spec == nil || !job.DeletionTimestamp.IsZero() {
			continue
		}
		if desired, differs := plan.Resize(job, spec); differs {
			pairs = append(pairs, resumption{current: job, desired: desired})
		}
	}
	return r.updateJobs(s, "not all jobs have their new size yet", func() error {
		return parallel.Do(ctx, pairs, func(ctx context.Context, p resumption) error { return r.patchJob(ctx, s.jobSet, p.current, p.desired) })
	})
}

// patchJob writes the differences, except those in the status. The patch includes the UID, so that the API server
// rejects it for another Job with the same name. The response is written to changed, which must not share memory with
// the cache.
func (r *Reconciler) patchJob(ctx context.Context, js *v1alpha2.JobSet, current, changed *batchv1.Job) error {
	from, to := *current, *changed
	from.Status, to.Status = batchv1.JobStatus{}, batchv1.JobStatus{}
	return r.jobWritten(js, "patching", current, r.Client.Patch(ctx, &to, withUID(&from)))
}

func withUID(current *batchv1.Job) client.Patch {
	base := *current
	base.UID = "" // so that the patch includes the UID
	return client.MergeFrom(&base)
}

// jobWritten handles the result of a patch or deletion. It ignores the error if the Job was already deleted or
// replaced. After a write, the next reconcile waits until the cache is expected to show it.
func (r *Reconciler) jobWritten(js *v1alpha2.JobSet, doing string, job *batchv1.Job, err error) error {
	if err == nil {
		r.wrote(js)
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("%s job %s: %w", doing, job.Name, err)
}
