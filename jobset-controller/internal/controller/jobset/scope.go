package jobset

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// jobsExist: all Jobs whose turn it is exist.
	jobsExist bool
	tallies   []v1alpha2.ReplicatedJobStatus
	// gates say which replicatedJobs may start.
	gates    []bool
	decision policy.Decision

	// claimsErr: why volume claims do not exist, so that Jobs have to wait.
	claimsErr error
	// decided: the decision was confirmed by live reads, and what goes before it was done.
	decided bool
	// settled: all Jobs are as spec.suspend asks.
	settled bool
	// pending events follow the status.
	pending []notice
}

func (s *scope) suspended() bool { return ptr.Deref(s.jobSet.Spec.Suspend, false) }

// decides reports whether there is something to record about the JobSet as a whole.
func (s *scope) decides() bool { return s.decision.Outcome != policy.Continue }

// finished: a terminal condition is recorded. It is the record of a decision, not of the world, hence read back.
func (s *scope) finished() bool {
	return s.has(v1alpha2.JobSetCompleted) || s.has(v1alpha2.JobSetFailed)
}

// has reports whether a condition was observed as True.
func (s *scope) has(kind v1alpha2.JobSetConditionType) bool {
	return meta.IsStatusConditionTrue(s.jobSet.Status.Conditions, string(kind))
}

// owns decides by UID: names are used again and anybody can write labels.
func owns(js *v1alpha2.JobSet, object metav1.Object) bool {
	return metav1.IsControlledBy(object, js)
}

// exactly makes a delete apply to this object and to no later one of the same name.
func exactly(object metav1.Object) client.Preconditions {
	uid := object.GetUID()
	return client.Preconditions{UID: &uid}
}
