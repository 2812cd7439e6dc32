package jobset

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/series"
)

// recreation returns the cached state of the recreation in progress. This state can be lost: a manager that starts
// during a recreation takes the time of the decision from the condition. It cannot determine which worker failed,
// because that pod has been deleted, nor when the last old Job disappeared.
func (r *Reconciler) recreation(s *scope) (one policy.Recreation, known bool) {
	if found, known := r.recreations.Get(s.jobSet.UID); known {
		return found.(policy.Recreation), true
	}
	status := &s.jobSet.Status
	restarting := meta.FindStatusCondition(status.Conditions, string(v1alpha2.JobSetRestarting))
	return policy.Recreation{DecidedAt: restarting.LastTransitionTime.Time, Counted: status.Restarts == status.RestartsCountTowardsMax}, false
}

// noteRestart is called after a restart has been recorded, while the failed Job still exists. The orchestrator records
// the recreations of groups.
func (r *Reconciler) noteRestart(ctx context.Context, s *scope) {
	d := s.decision
	if d.Outcome != policy.Restart || s.InPlace.Enabled {
		return
	}
	one := policy.Recreation{DecidedAt: r.Clock.Now(), Counted: d.First().Counts()}
	if job := d.First().Job; job != nil {
		one.FailedAt, one.Culprit = policy.FailureOf(job).LastTransitionTime.Time, r.culprit(ctx, s, job)
	}
	r.recreations.Add(s.jobSet.UID, one)
}

// culprits limits how many pods of a failed Job are read.
const culprits = 500

// culprit returns the pod that made a Job fail. It is only used in the restart history, so read errors are ignored.
// With a resource version, the API server responds from its cache, which is as recent as what the Job controller has
// read. Without one, it would read all pods of the namespace from etcd. However, with a resource version it ignores the
// limit, so pods of larger Jobs are read from etcd.
func (r *Reconciler) culprit(ctx context.Context, s *scope, job *batchv1.Job) history.Entry {
	options := client.ListOptions{Limit: culprits}
	if ptr.Deref(job.Spec.Parallelism, 1) <= culprits {
		options.Raw = &metav1.ListOptions{ResourceVersion: "0"}
	}
	pods, err := r.podsOf(ctx, job, &options)
	if err != nil {
		log.FromContext(ctx).V(1).Info("failed to list the pods of a failed Job; its restart record will not name a worker", "job", job.Name, "error", err.Error())
		return history.Entry{}
	}
	return policy.FindCulprit(s.jobSet.Name, pods)
}

// accountRecreation adds a completed recreation to the history of the JobSet before the condition shows that it has
// ended. If the manager dies in between, the next manager repeats this and finds the existing entry.
func (r *Reconciler) accountRecreation(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.InPlace.Enabled || !s.has(v1alpha2.JobSetRestarting) {
		return ctrl.Result{}, nil
	}
	one, known := r.recreation(s)
	if known && one.DownAt.IsZero() && len(s.Jobs.Previous) == 0 {
		one.DownAt = r.Clock.Now()
		r.recreations.Add(s.jobSet.UID, one)
	}
	if !policy.AllReady(&s.jobSet.Spec, s.Tallies) {
		return ctrl.Result{}, nil
	}
	e := one.Account(s.jobSet.Status.Restarts, r.Clock.Now())
	written, _ := history.Parse(s.jobSet.Annotations[history.Annotation]) // unreadable entries are dropped
	if n := len(written); n > 0 && !e.After(written[n-1].Attempt) {
		return ctrl.Result{}, nil
	}
	ok, err := r.annotate(ctx, s, history.Annotation, history.Format(append(written, e)))
	if err != nil || !ok {
		return ctrl.Result{RequeueAfter: requeue.Stale}, err
	}
	r.Metrics.account(e, policy.Workers(&s.jobSet.Spec))
	r.recreations.Remove(s.jobSet.UID)
	return ctrl.Result{}, nil
}

// account adds a completed recreation to the metrics.
func (m *Metrics) account(e history.Entry, workers int64) {
	for _, phase := range history.Phases {
		m.durations.WithLabelValues(e.Kind, phase.String()).Observe(e.Took[phase].Duration().Seconds())
	}
	m.Add(series.LostWorkerSeconds, e.Lost().Seconds()*float64(workers), e.Cause.Kind)
}
