package jobset

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

const (
	// createsPerPass bounds the Jobs that one reconcile holds in memory; the events of those created bring the next one.
	createsPerPass = 5000
	// passRetry is when the next pass comes if they do not.
	passRetry = time.Second
)

// createJobs creates the Jobs that are missing and whose turn it is.
func (r *Reconciler) createJobs(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.mustWaitForPrevious() || s.lacksClaims {
		return ctrl.Result{}, nil
	}
	missing, wait, refusedBefore := r.refusals.due(s.jobSet, s.missingJobs())
	s.refused = refusedBefore
	again := ctrl.Result{RequeueAfter: wait}
	if len(missing) == 0 {
		return again, nil
	}
	if current, err := r.epochIsCurrent(ctx, s); err != nil || !current {
		return ctrl.Result{RequeueAfter: staleRetry}, err
	}
	var taken takenNames
	began := r.clock.Now()
	err := parallel.Do(ctx, missing, func(ctx context.Context, job *batchv1.Job) error {
		err := r.createJob(ctx, s.jobSet, job)
		r.refusals.note(s.jobSet, job, err, began)
		return taken.unlessForeign(job.Name, err)
	})
	if now := refusal(err); now != "" {
		s.refused = now
		r.report.warnOnce(s.jobSet, jobCreationFailed, now, err.Error())
		_, wait, _ := r.refusals.due(s.jobSet, missing)
		return soonest(again, ctrl.Result{RequeueAfter: max(wait, passRetry)}), nil // the pass may have taken longer than the pause
	}
	if err != nil {
		r.report.warn(s.jobSet, jobCreationFailed, err.Error())
	}
	return soonest(again, soonest(r.reportTaken(s, taken.names), morePasses(missing))), err
}

// refusal is what the API server says about Jobs that it will not take however often it is asked; empty if there is another way to
// get them in.
func refusal(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInvalid {
		return ""
	}
	return status.Status().Message
}

// mustWaitForPrevious: with BlockingRecreate attempts never overlap.
func (s *scope) mustWaitForPrevious() bool {
	policy := s.jobSet.Spec.FailurePolicy
	return policy != nil && policy.RestartStrategy == v1alpha2.BlockingRecreate && len(s.jobs.Previous) > 0
}

// missingJobs builds the Jobs without a predecessor. A Job whose predecessor is still being deleted is built later.
func (s *scope) missingJobs() []*batchv1.Job {
	var missing []*batchv1.Job
	var name []byte // used again for each Job: nearly always all are there
	builder := s.builder()
	for i := range s.jobSet.Spec.ReplicatedJobs {
		entry := &s.jobSet.Spec.ReplicatedJobs[i]
		for index := range int(entry.Replicas) {
			if len(missing) == createsPerPass || !s.gates[i] {
				break
			}
			name = plan.AppendJobName(name[:0], s.jobSet.Name, entry.Name, index)
			if !s.jobs.Names[string(name)] && !s.unseen[string(name)] {
				missing = append(missing, builder.Job(i, index))
			}
		}
	}
	return missing
}

// epochIsCurrent guards against a cache that shows the Jobs of a fail-over deleted but not yet its epoch: Jobs created now would
// carry the old one and be deleted again.
func (r *Reconciler) epochIsCurrent(ctx context.Context, s *scope) (bool, error) {
	if !s.inPlace.Enabled {
		return true, nil
	}
	var live v1alpha2.JobSet
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(s.jobSet), &live); err != nil {
		return false, ignoreNotFound("getting the live JobSet", err)
	}
	return live.Annotations[epoch.Annotation] == s.jobSet.Annotations[epoch.Annotation], nil
}

func (r *Reconciler) createJob(ctx context.Context, js *v1alpha2.JobSet, job *batchv1.Job) error {
	err := r.client.Create(ctx, job)
	if apierrors.IsAlreadyExists(err) {
		return r.checkExisting(ctx, js, job.Name)
	}
	if err != nil {
		return fmt.Errorf("creating job %s: %w", job.Name, err)
	}
	r.unseen.written(js.UID, job, "")
	return nil
}

// checkExisting is satisfied with a Job of our own that the cache does not show yet.
func (r *Reconciler) checkExisting(ctx context.Context, js *v1alpha2.JobSet, name string) error {
	var existing batchv1.Job
	err := r.live.Get(ctx, client.ObjectKey{Namespace: js.Namespace, Name: name}, &existing)
	switch {
	case err != nil:
		return fmt.Errorf("getting job %s: %w", name, err)
	case !owns(js, &existing):
		return fmt.Errorf("job %s %w", name, errForeign)
	}
	r.unseen.written(js.UID, &existing, "")
	return nil
}

func morePasses(missing []*batchv1.Job) ctrl.Result {
	if len(missing) < createsPerPass {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: passRetry}
}
