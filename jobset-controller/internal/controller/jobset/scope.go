package jobset

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/validation"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// scope is all that one reconcile knows. observe fills it; steps write down what they achieved.
type scope struct {
	// jobSet as observed. Only its resourceVersion and epoch annotation move on, when the epoch is written.
	jobSet *v1alpha2.JobSet
	// jobs are shared with the cache and never changed.
	jobs policy.Jobs
	// unseen names the Jobs that the cache shows as they were before our last write, or not at all. They are as they should be.
	unseen map[string]bool
	// service of the JobSet, nil if the cache has none.
	service *corev1.Service
	// epoch of the group.
	epoch   epoch.Record
	inPlace policy.InPlace
	agents  agents
	// attempts of restartStrategy InPlaceRestart, nil without it.
	attempts *policy.Attempts
	// problems with annotations, to be reported once each.
	problems []policy.Problem
	features policy.Features
	// faults of the spec. Some of them stop everything but counting.
	faults validation.Problems
	// refused: why the API server does not take the Jobs as they are written, if that is so.
	refused string
	tallies []v1alpha2.ReplicatedJobStatus
	// gates say which entries may start.
	gates    []bool
	decision policy.Decision

	// lacksClaims: volume claims could not be created, so that Jobs have to wait.
	lacksClaims bool
	// decided: the decision was confirmed by live reads, and what goes before it was done.
	decided bool
	// settled: all Jobs are as spec.suspend asks.
	settled bool
	// pending events follow the status.
	pending []notice
}

func (s *scope) suspended() bool { return ptr.Deref(s.jobSet.Spec.Suspend, false) }

// seen leaves out the Jobs that were written to already. The news of them bring the next pass; should there be none, hidden does.
func (s *scope) seen(jobs []*batchv1.Job) []*batchv1.Job {
	if len(s.unseen) == 0 {
		return jobs
	}
	return slices.DeleteFunc(slices.Clone(jobs), func(job *batchv1.Job) bool { return s.unseen[job.Name] })
}

// hidden is when to look again for what the cache does not show.
func (s *scope) hidden() ctrl.Result {
	if len(s.unseen) == 0 {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: unseenFor}
}

// decides tells whether there is something to record about the JobSet as a whole.
func (s *scope) decides() bool { return s.decision.Outcome != policy.Continue }

// finished: a terminal condition is recorded. It is the record of a decision, not of the world, hence read back.
func (s *scope) finished() bool {
	return s.has(v1alpha2.JobSetCompleted) || s.has(v1alpha2.JobSetFailed)
}

// has tells whether a condition was observed as True.
func (s *scope) has(kind v1alpha2.JobSetConditionType) bool {
	return meta.IsStatusConditionTrue(s.jobSet.Status.Conditions, string(kind))
}
