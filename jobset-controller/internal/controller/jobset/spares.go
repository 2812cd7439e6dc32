package jobset

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// sparesLast is how long spares may take to exit on their own once the JobSet has completed, so that the logs of spares
// that worked in a slot remain available.
const sparesLast = 10 * time.Second

// missingSpares builds the Job for the spares of a replicatedJob if it is missing. Workers that were created before the
// JobSet had spares cannot reach a worker in a spare. In that case the spares are created after the next recreation, once
// the new workers have been scheduled.
func (s *scope) missingSpares(builder *plan.Builder, i int) *batchv1.Job {
	rjob := s.jobSet.Spec.ReplicatedJobs[i].Name
	if s.agents.plan.Spares(i) == 0 || !s.workersReady(i) || s.Jobs.Names[plan.SparesName(s.jobSet.Name, rjob)] || !s.supportsSpares(rjob) {
		return nil
	}
	return builder.Spares(i)
}

// workersReady reports whether all Jobs of a replicatedJob are ready or have succeeded. A spare that was scheduled
// before the workers would keep them off its node, and they may not fit anywhere else.
func (s *scope) workersReady(i int) bool {
	return s.Tallies[i].Ready+s.Tallies[i].Succeeded >= s.jobSet.Spec.ReplicatedJobs[i].Replicas
}

// supportsSpares reports whether a replicatedJob can have spares. The workers of its Jobs must work in any slot, and
// workers of all other Jobs with agents must be able to reach a slot that has moved to another pod.
func (s *scope) supportsSpares(rjob string) bool {
	hasAgents := map[string]bool{}
	for i, e := range s.agents.assessment.Entries {
		hasAgents[s.jobSet.Spec.ReplicatedJobs[i].Name] = e.Driver == inject.Exec
	}
	return !slices.ContainsFunc(s.Jobs.Current(), func(job *batchv1.Job) bool {
		slots, of := job.Annotations[v1alpha2.SlotsKey], job.Labels[v1alpha2.ReplicatedJobNameKey]
		return of == rjob && slots != v1alpha2.SlotsAny || hasAgents[of] && slots == ""
	})
}

// waitsByItself reports whether the Job waits for Kueue individually, as in a JobSet with a queue for its stages. The
// annotation that names this queue may have been removed from the JobSet since then.
func waitsByItself(job *batchv1.Job) bool { return job.Labels[v1alpha2.QueueNameLabel] != "" }

func (s *scope) unfinishedSpares() []*batchv1.Job {
	return slices.DeleteFunc(slices.Clone(s.Jobs.Spares), policy.Finished)
}

// resizeSpares sets the number of spares to the value of the annotation, which may change at any time. An invalid value
// has no effect. A JobSet that Kueue queues as a whole keeps no spares, because Kueue does not count them.
func (r *Reconciler) resizeSpares(ctx context.Context, s *scope) (ctrl.Result, error) {
	if policy.Queued(s.jobSet) {
		return ctrl.Result{}, r.deleteJobs(ctx, s, s.unfinishedSpares())
	}
	if len(s.agents.assessment.Problems) > 0 || s.agents.lacks != "" {
		return ctrl.Result{}, nil
	}
	return r.updateJobs(s, "not all replicatedJobs have the desired number of spares yet", func() error {
		return parallel.Do(ctx, s.unfinishedSpares(), func(ctx context.Context, job *batchv1.Job) error { return r.resizeSparesOf(ctx, s, job) })
	})
}

func (r *Reconciler) resizeSparesOf(ctx context.Context, s *scope, job *batchv1.Job) error {
	i := slices.IndexFunc(s.jobSet.Spec.ReplicatedJobs, func(rjob v1alpha2.ReplicatedJob) bool { return rjob.Name == job.Labels[v1alpha2.ReplicatedJobNameKey] })
	have, want := int(ptr.Deref(job.Spec.Completions, 0)), 0
	if i >= 0 {
		want = s.agents.plan.Spares(i)
	}
	if !job.DeletionTimestamp.IsZero() || want == have {
		return nil
	}
	if queued := waitsByItself(job); want < have || queued {
		used, err := r.usedSpares(ctx, job)
		if err != nil {
			return err
		}
		want = possibleSpares(want, used, have, queued)
	}
	switch want {
	case have:
		return nil
	case 0:
		return r.deleteJobs(ctx, s, []*batchv1.Job{job})
	}
	changed := job.DeepCopy()
	changed.Spec.Parallelism, changed.Spec.Completions = ptr.To(int32(want)), ptr.To(int32(want))
	return r.patchJob(ctx, s.jobSet, job, changed)
}

// possibleSpares returns the number of spares closest to want that does not remove a worker's pod. 0 means that the
// spare Job is deleted. Kueue stops a queued Job when its size changes, so such a Job is replaced instead, and its
// successor requests the new quota.
func possibleSpares(want, used, have int, queued bool) int {
	switch {
	case !queued:
		return min(max(want, used), have)
	case used > 0:
		return have
	}
	return 0
}

// usedSpares returns how many of a Job's pods, starting at index 0, must stay so that no pod with an assigned slot is
// deleted. A pod that is assigned a slot at this very moment may be deleted, which is handled as the loss of a worker.
func (r *Reconciler) usedSpares(ctx context.Context, job *batchv1.Job) (int, error) {
	pods, err := r.podsOf(ctx, job)
	if err != nil {
		return 0, err
	}
	used := 0
	for i := range pods {
		pod := &pods[i]
		index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
		over := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		if slot := pod.Annotations[v1alpha2.SlotKey]; err == nil && !over && slot != "" && slot != v1alpha2.SlotWaits {
			used = max(used, index+1)
		}
	}
	return used, nil
}

// completeWithSpares completes a JobSet whose workers have all finished, even if some of them finished in spares and
// the pods that replaced their original pods have not started. It waits for pods that are running, because they may be
// uploading logs, and for Jobs that will complete on their own. Stages do not start earlier because of spares: the
// orchestrator would not know which slots have finished.
func (r *Reconciler) completeWithSpares(ctx context.Context, s *scope) error {
	if s.finished() || s.decides() {
		return nil
	}
	done := policy.FinishedInSpares(&s.jobSet.Spec, s.Jobs)
	if len(done) == 0 {
		return nil
	}
	facts := s.Facts
	facts.Tallies = policy.Tally(facts.Spec, s.Jobs.WithSucceeded(done), s.jobSet.Status.ReplicatedJobsStatus)
	decision := policy.Success(facts)
	if decision.Outcome != policy.Complete {
		return nil
	}
	for _, job := range done {
		if waits, err := r.onlyWaits(ctx, job); err != nil || !waits {
			return err
		}
	}
	s.Tallies, s.decision = facts.Tallies, decision
	return nil
}

// onlyWaits reports whether no pod of a Job is running, and fewer pods have succeeded than the Job requires. It also
// counts succeeded pods itself, because the Job controller counts them with a delay.
func (r *Reconciler) onlyWaits(ctx context.Context, job *batchv1.Job) (bool, error) {
	started := fields.ParseSelectorOrDie("status.phase!=Pending,status.phase!=Failed")
	pods, err := r.podsOf(ctx, job, client.MatchingFieldsSelector{Selector: started})
	if err != nil || slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodSucceeded }) {
		return false, err
	}
	return max(int32(len(pods)), job.Status.Succeeded) < ptr.Deref(job.Spec.Completions, 1), nil
}

// podsOf reads the pods of a Job from the API server.
func (r *Reconciler) podsOf(ctx context.Context, job *batchv1.Job, options ...client.ListOption) ([]corev1.Pod, error) {
	var pods corev1.PodList
	options = append(options, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})
	if err := r.Live.List(ctx, &pods, options...); err != nil {
		return nil, fmt.Errorf("listing the pods of job %s: %w", job.Name, err)
	}
	return pods.Items, nil
}

// keepSuccesses keeps the counts of succeeded Jobs when the JobSet has finished, because Jobs that finished in spares
// have been deleted.
func (s *scope) keepSuccesses() {
	for _, old := range s.jobSet.Status.ReplicatedJobsStatus {
		for i := range s.Tallies {
			if t := &s.Tallies[i]; t.Name == old.Name {
				t.Succeeded = max(t.Succeeded, old.Succeeded)
			}
		}
	}
}

// leftSpares returns the spare Jobs that must be deleted after the JobSet has finished, and when to check again.
func (s *scope) leftSpares(now time.Time) ([]*batchv1.Job, ctrl.Result) {
	left := s.unfinishedSpares()
	if wait := sparesLast - now.Sub(s.finishedAt()); len(left) > 0 && s.has(v1alpha2.JobSetCompleted) && wait > 0 {
		return nil, ctrl.Result{RequeueAfter: wait}
	}
	return left, ctrl.Result{}
}
