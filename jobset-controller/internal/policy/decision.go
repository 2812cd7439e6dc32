package policy

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Outcome is what becomes of a JobSet.
type Outcome int

const (
	// Continue leaves the JobSet as it is.
	Continue Outcome = iota
	// Complete finishes it with success.
	Complete
	// Fail finishes it without.
	Fail
	// Restart recreates all its Jobs.
	Restart
)

// Decision is an outcome together with why.
type Decision struct {
	Outcome Outcome
	// Reason and Message are those of the condition that the outcome makes True.
	Reason, Message string
	// Counts tells whether a restart counts towards maxRestarts.
	Counts bool
	// Action of the failure policy that asked for a restart.
	Action v1alpha2.FailurePolicyAction
	// Job whose failure decided, if one did.
	Job *batchv1.Job
}

// Facts are what a decision depends on.
type Facts struct {
	Spec   *v1alpha2.JobSetSpec
	Status *v1alpha2.JobSetStatus
	// Tallies of the current attempt, see Tally.
	Tallies []v1alpha2.ReplicatedJobStatus
	Jobs    Jobs
	Epoch   epoch.Record
	InPlace InPlace
}

// Decide says what becomes of the JobSet. Failure goes before success, so that a JobSet whose Jobs do both at once restarts.
func Decide(f Facts) Decision {
	for _, rule := range []func(Facts) Decision{inPlaceBudget, failure, success} {
		if d := rule(f); d.Outcome != Continue {
			return d
		}
	}
	return Decision{}
}
