package jobset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// writeStatus writes the status if it has changed, and then emits the pending events.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) (ctrl.Result, error) {
	status := s.status()
	if equality.Semantic.DeepEqual(*status, s.jobSet.Status) {
		return ctrl.Result{}, nil
	}
	if wait := r.progressDelay(s.jobSet, status); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if err := r.patchStatus(ctx, s.jobSet, status); err != nil {
		return requeue.OnError(fmt.Errorf("writing the status: %w", err))
	}
	r.written.Add(s.jobSet.UID, r.Clock.Now())
	for _, n := range s.pending {
		r.send(s.jobSet, n)
	}
	if s.decided {
		r.noteRestart(ctx, s)
		r.Metrics.count(s.decision)
	}
	return ctrl.Result{}, nil
}

// patchStatus writes the changes if the JobSet has not changed since it was observed, because other programs write
// conditions too. It removes fields that should be absent no matter which program wrote them, for example the upstream
// controller.
func (r *Reconciler) patchStatus(ctx context.Context, js *v1alpha2.JobSet, status *v1alpha2.JobSetStatus) error {
	identity := metav1.ObjectMeta{Namespace: js.Namespace, Name: js.Name, UID: js.UID, ResourceVersion: js.ResourceVersion}
	observed := &v1alpha2.JobSet{ObjectMeta: identity, Status: js.Status}
	changed := &v1alpha2.JobSet{ObjectMeta: identity, Status: *status}
	return r.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(observed, client.MergeFromWithOptimisticLock{}))
}

// status computes the status. No other function does.
func (s *scope) status() *v1alpha2.JobSetStatus {
	status := s.jobSet.Status.DeepCopy()
	status.ReplicatedJobsStatus = ordered(status.ReplicatedJobsStatus, s.reportedTallies())
	if s.finished() {
		return status
	}
	s.setAccepted(status)
	switch {
	case s.decided:
		s.record(status)
	case s.decides(): // not confirmed yet, so the observed state may be outdated
	case s.suspended() && (!s.faults.Stops() || len(s.Jobs.Names) > 0):
		s.setSuspended(status)
	case s.faults.Stops():
	default:
		s.setResumed(status)
	}
	to, n := s.running()
	s.set(status, v1alpha2.JobSetRunning, to, n)
	return status
}

// reportedTallies adds Jobs that may not start yet to the tallies.
func (s *scope) reportedTallies() []v1alpha2.ReplicatedJobStatus {
	if s.suspended() || s.finished() {
		return s.Tallies
	}
	return policy.Reported(&s.jobSet.Spec, s.Tallies, s.gates, policy.Queued(s.jobSet))
}

// ordered returns the counts in their existing order, because the upstream controller sorts them differently.
func ordered(old, now []v1alpha2.ReplicatedJobStatus) []v1alpha2.ReplicatedJobStatus {
	place := make(map[string]int, len(old))
	for i := range old {
		place[old[i].Name] = i - len(old) // a negative place sorts it before new replicatedJobs
	}
	return slices.SortedStableFunc(slices.Values(now), func(a, b v1alpha2.ReplicatedJobStatus) int { return cmp.Compare(place[a.Name], place[b.Name]) })
}

// record writes the decision to the status.
func (s *scope) record(status *v1alpha2.JobSetStatus) {
	d := s.decision
	switch d.Outcome {
	case policy.Complete:
		status.TerminalState = string(v1alpha2.JobSetCompleted)
		s.setTrue(status, v1alpha2.JobSetCompleted, normal(d.Reason, d.Message))
		s.end(status, normal(v1alpha2.JobSetCompletedReason, "the JobSet has completed"))
	case policy.Fail:
		status.TerminalState = string(v1alpha2.JobSetFailed)
		s.setTrue(status, v1alpha2.JobSetFailed, warning(d.Reason, d.Message))
		s.end(status, normal(v1alpha2.JobSetFailedReason, "the JobSet has failed"))
	case policy.Restart:
		s.recordRestart(status)
	case policy.RestartJobs:
		s.recordJobRestarts(status)
	}
}

func (s *scope) end(status *v1alpha2.JobSetStatus, n notice) {
	s.endRestarts(status, n)
	s.endSequence(status, n)
}

func (s *scope) endRestarts(status *v1alpha2.JobSetStatus, n notice) {
	for _, kind := range []v1alpha2.JobSetConditionType{v1alpha2.JobSetRestarting, v1alpha2.JobSetRestartingJobs, v1alpha2.JobSetRestartingInPlace} {
		s.setFalse(status, kind, n)
	}
}

func (s *scope) recordRestart(status *v1alpha2.JobSetStatus) {
	d := s.decision
	status.Restarts++
	if d.First().Counts() {
		status.RestartsCountTowardsMax++
	}
	status.RuleRestarts = policy.CountRules(status.RuleRestarts, d.Rulings)
	s.set(status, v1alpha2.JobSetRestarting, metav1.ConditionTrue, warning(d.Reason, d.Message))
	s.pending = append(s.pending, warning(string(d.First().Action)+actionSuffix, d.Message))
	s.setFalseSilently(status, v1alpha2.JobSetStartupPolicyCompleted) // an ordered start begins again
}

// recordJobRestarts counts the Jobs that are recreated individually. The other Jobs, and an ordered start, continue.
func (s *scope) recordJobRestarts(status *v1alpha2.JobSetStatus) {
	d := s.decision
	status.ReplicatedJobsStatus = policy.CountRestarts(&s.jobSet.Spec, s.reportedTallies(), d.Rulings)
	status.RuleRestarts = policy.CountRules(status.RuleRestarts, d.Rulings)
	s.setTrue(status, v1alpha2.JobSetRestartingJobs, warning(d.Reason, d.Message))
	for _, restart := range d.Rulings {
		n := warning(string(restart.Action)+actionSuffix, "job "+restart.Job.Name+" is being recreated: "+policy.FailureOf(restart.Job).Message)
		s.pending = append(s.pending, n)
	}
}

func (s *scope) setSuspended(status *v1alpha2.JobSetStatus) {
	s.setAttempts(status)
	if !s.settled {
		return
	}
	s.setTrue(status, v1alpha2.JobSetSuspended, normal(v1alpha2.SuspendedJobsReason, "the jobs are suspended"))
	s.endRestarts(status, normal(v1alpha2.JobSetSuspendedReason, "the JobSet is suspended"))
}

func (s *scope) setResumed(status *v1alpha2.JobSetStatus) {
	if s.has(v1alpha2.JobSetSuspended) && s.settled {
		s.setFalse(status, v1alpha2.JobSetSuspended, normal(v1alpha2.ResumeJobsReason, "the jobs are resumed"))
		s.setFalseSilently(status, v1alpha2.JobSetStartupPolicyCompleted) // an ordered start begins again
	}
	s.setAttempts(status)
	if policy.AllReady(&s.jobSet.Spec, s.Tallies) && !s.restartsInPlace() {
		s.endRestarts(status, normal(v1alpha2.JobsReadyReason, "all jobs are ready"))
	}
	s.setSequence(status)
}

func (s *scope) restartsInPlace() bool { return s.Attempts != nil && s.Attempts.Restarting() }

// setAttempts sets the attempts that the agents of restartStrategy InPlaceRestart must follow.
func (s *scope) setAttempts(status *v1alpha2.JobSetStatus) {
	if s.Attempts == nil {
		return
	}
	status.PreviousInPlaceRestartAttempt, status.CurrentInPlaceRestartAttempt = s.Attempts.Next(&s.jobSet.Status, s.suspended())
	if s.restartsInPlace() && !s.suspended() {
		s.setTrue(status, v1alpha2.JobSetRestartingInPlace, warning(v1alpha2.InPlaceAttemptReason, fmt.Sprintf(
			"all pods are restarting in place to join attempt %d", s.Attempts.Highest)))
	}
}

// progressInterval is how often the status is updated with intermediate Job counts and with what the JobSet is waiting
// for. Each Job changes the counts twice when it starts or stops. Programs do not act on intermediate counts, and for
// users, every 5 s is sufficient.
const progressInterval = 5 * time.Second

// progressRate is how many such writes per second are made for all JobSets together, because the API server has other
// work to do when hundreds of them start at once.
const progressRate = 5

// progressDelay returns how long to wait before writing a status that differs only in intermediate counts. 0 means that
// it must be written now.
func (r *Reconciler) progressDelay(js *v1alpha2.JobSet, status *v1alpha2.JobSetStatus) time.Duration {
	last, written := r.written.Get(js.UID)
	if !written || !onlyProgress(&js.Spec, &js.Status, status) {
		return 0
	}
	if left := progressInterval - r.Clock.Since(last.(time.Time)); left > 0 {
		return left
	}
	if !r.counters.TryAccept() {
		return progressInterval
	}
	return 0
}

// onlyProgress reports whether the only differences are messages, the reason why the JobSet is not running, and the
// numbers of ready, active or suspended Jobs. It returns false if one of these numbers has reached a value that another
// program waits for. That is the case if all Jobs are ready or have finished, or if no Job of a suspended JobSet is
// still active.
func onlyProgress(spec *v1alpha2.JobSetSpec, old, now *v1alpha2.JobSetStatus) bool {
	if !equality.Semantic.DeepEqual(withoutCounters(old), withoutCounters(now)) {
		return false
	}
	replicas := make(map[string]int32, len(spec.ReplicatedJobs))
	for i := range spec.ReplicatedJobs {
		replicas[spec.ReplicatedJobs[i].Name] = spec.ReplicatedJobs[i].Replicas
	}
	for i, s := range now.ReplicatedJobsStatus { // old has the same names in the same order
		was, all := old.ReplicatedJobsStatus[i], replicas[s.Name]
		arrived := s.Succeeded != was.Succeeded || s.Failed > was.Failed || // finished Jobs free quota
			ptr.Deref(spec.Suspend, false) && s.Active == 0 && was.Active != 0 ||
			s.Ready+s.Succeeded == all && was.Ready+was.Succeeded != all
		if arrived {
			return false
		}
	}
	return true
}

// withoutCounters returns the status without the fields derived from existing Jobs: the counts, and the messages that
// contain them. What remains is a record: restarts of the JobSet and of single Jobs, and conditions.
func withoutCounters(status *v1alpha2.JobSetStatus) v1alpha2.JobSetStatus {
	record := *status
	record.ReplicatedJobsStatus = make([]v1alpha2.ReplicatedJobStatus, len(status.ReplicatedJobsStatus))
	for i, s := range status.ReplicatedJobsStatus {
		record.ReplicatedJobsStatus[i] = v1alpha2.ReplicatedJobStatus{
			Name: s.Name, JobRestarts: s.JobRestarts, JobRestartsCountTowardsMax: s.JobRestartsCountTowardsMax,
		}
	}
	record.Conditions = slices.Clone(status.Conditions)
	for i := range record.Conditions {
		c := &record.Conditions[i]
		c.Message = ""
		if c.Type == string(v1alpha2.JobSetRunning) {
			c.Reason = ""
		}
	}
	return record
}
