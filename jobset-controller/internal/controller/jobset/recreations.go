package jobset

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/history"
)

// recreations are what the status has no place for: the times of the recreations in progress, and whose failure they answer. A
// manager that starts anew in the middle of one has the time of the condition, and no more.
type recreations struct {
	mu sync.Mutex
	of map[types.UID]policy.Recreation
}

func (r *recreations) began(jobSet types.UID, one policy.Recreation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[types.UID]policy.Recreation{}
	}
	r.of[jobSet] = one
}

// down notes that the Jobs of before are gone.
func (r *recreations) down(jobSet types.UID, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one, ok := r.of[jobSet]; ok && one.DownAt.IsZero() {
		one.DownAt = at
		r.of[jobSet] = one
	}
}

func (r *recreations) get(jobSet types.UID) (policy.Recreation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.of[jobSet]
	return one, ok
}

func (r *recreations) forget(jobSet types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, jobSet)
}

// accounts tells whether the recreations of a JobSet are for the controller to account for: of a group the orchestrator does it.
func (s *scope) accounts() bool { return !s.inPlace.Enabled }

// noteRestart is called after a restart was recorded, while what has failed is still there.
func (r *Reconciler) noteRestart(ctx context.Context, s *scope) {
	d := s.decision
	if d.Outcome != policy.Restart || !s.accounts() {
		return
	}
	one := policy.Recreation{DecidedAt: r.clock.Now(), Counted: d.Counts}
	if d.Job != nil {
		one.FailedAt, one.Culprit = policy.FailureOf(d.Job).LastTransitionTime.Time, r.culprit(ctx, s, d.Job)
	}
	r.recreations.began(s.jobSet.UID, one)
}

// culprits bounds how many pods of a failed Job are looked at.
const culprits = 500

// culprit is for the account only, so what cannot be read is left out.
func (r *Reconciler) culprit(ctx context.Context, s *scope, job *batchv1.Job) policy.Culprit {
	var pods corev1.PodList
	err := r.live.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}, client.Limit(culprits))
	if err != nil {
		log.FromContext(ctx).V(1).Info("the pods of a failed Job cannot be listed; the account of its restart names no worker", "job", job.Name, "error", err.Error())
		return policy.Culprit{}
	}
	return policy.FindCulprit(s.jobSet.Name, pods.Items)
}

// accountRecreation writes a recreation that has ended into the history of the JobSet, before the condition says that it has: so a
// manager that dies in between does it again, and finds it there.
func (r *Reconciler) accountRecreation(ctx context.Context, s *scope) (ctrl.Result, error) {
	restarting := meta.FindStatusCondition(s.jobSet.Status.Conditions, string(v1alpha2.JobSetRestarting))
	if !s.accounts() || restarting == nil || restarting.Status != metav1.ConditionTrue {
		return ctrl.Result{}, nil
	}
	if len(s.jobs.Previous) == 0 {
		r.recreations.down(s.jobSet.UID, r.clock.Now())
	}
	if !policy.AllReady(&s.jobSet.Spec, s.tallies) {
		return ctrl.Result{}, nil
	}
	status := &s.jobSet.Status
	one, known := r.recreations.get(s.jobSet.UID)
	if !known {
		one = policy.Recreation{DecidedAt: restarting.LastTransitionTime.Time, Counted: status.Restarts == status.RestartsCountTowardsMax}
	}
	e := one.Account(status.Restarts, r.clock.Now())
	written, _ := history.Parse(s.jobSet.Annotations[history.Annotation]) // what cannot be read is left out
	if n := len(written); n > 0 && !e.After(written[n-1].Attempt) {
		return ctrl.Result{}, nil
	}
	ok, err := r.writeHistory(ctx, s, history.Format(append(written, e)))
	if err != nil || !ok {
		return ctrl.Result{RequeueAfter: staleRetry}, err
	}
	r.metrics.account(e, workersOf(&s.jobSet.Spec))
	r.recreations.forget(s.jobSet.UID)
	return ctrl.Result{}, nil
}

// writeHistory reports false if the JobSet has changed since it was observed.
func (r *Reconciler) writeHistory(ctx context.Context, s *scope, text string) (bool, error) {
	changed := s.jobSet.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[history.Annotation] = text
	err := r.client.Patch(ctx, changed, client.MergeFromWithOptions(s.jobSet, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("writing the history of restarts: %w", err)
	}
	s.jobSet.ResourceVersion, s.jobSet.Annotations = changed.ResourceVersion, changed.Annotations
	return true, nil
}

// workersOf is how many pods run at a time.
func workersOf(spec *v1alpha2.JobSetSpec) int64 {
	var n int64
	for i := range spec.ReplicatedJobs {
		entry := &spec.ReplicatedJobs[i]
		n += int64(entry.Replicas) * int64(ptr.Deref(entry.Template.Spec.Parallelism, 1))
	}
	return n
}

// account puts a recreation that has ended into the metrics.
func (m *Metrics) account(e history.Entry, workers int64) {
	for _, phase := range history.Phases {
		m.durations.WithLabelValues(e.Kind, phase.String()).Observe(e.Took[phase].Seconds())
	}
	m.lost.WithLabelValues(e.Cause.Kind).Add(e.Lost().Seconds() * float64(workers))
}
