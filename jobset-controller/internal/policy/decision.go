// Package policy makes the decisions about a JobSet: which Jobs count, whether it completes, fails or restarts, and
// which replicatedJobs may start. It performs no I/O: it reads observed objects and returns what to do and why.
package policy

import (
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Outcome determines what happens to a JobSet.
type Outcome int

const (
	// Continue leaves the JobSet unchanged.
	Continue Outcome = iota
	// Complete marks the JobSet as completed.
	Complete
	// Fail marks the JobSet as failed.
	Fail
	// Restart recreates all Jobs of the JobSet.
	Restart
	// RestartJobs recreates some Jobs of the JobSet.
	RestartJobs
)

// Decision is an outcome and its reason.
type Decision struct {
	Outcome Outcome
	// Reason and Message are used for the condition that becomes True.
	Reason, Message string
	// Rulings lists the rulings for the failed Jobs on which the decision is based. The first one led to the decision.
	// For a restart, they name the rules that caused it.
	Rulings []Ruling
}

// First returns the ruling for the Job whose failure led to the decision. It is empty if there is none.
func (d Decision) First() Ruling {
	if len(d.Rulings) == 0 {
		return Ruling{}
	}
	return d.Rulings[0]
}

// Facts is the input of a decision.
type Facts struct {
	Spec   *v1alpha2.JobSetSpec
	Status *v1alpha2.JobSetStatus
	// Tallies counts the Jobs of the current attempt. See Tally.
	Tallies []v1alpha2.ReplicatedJobStatus
	Jobs    Jobs
	Epoch   epoch.Record
	InPlace InPlace
	// Attempts belongs to restartStrategy InPlaceRestart, and is nil for other strategies.
	Attempts *Attempts
}

// Decide makes the decision about the JobSet. Failure has priority over success, so a JobSet restarts if some of its
// Jobs fail even though others would complete it.
func Decide(f Facts) Decision {
	for _, rule := range []func(Facts) Decision{inPlaceBudget, failure, Success} {
		if d := rule(f); d.Outcome != Continue {
			return d
		}
	}
	return Decision{}
}

// Features holds the upstream controller's feature gates that affect decisions. As in the upstream controller, all of
// them are disabled by default.
type Features struct {
	// RestartJob allows rules of the failure policy to restart single Jobs.
	RestartJob bool
	// InPlaceRestart enables restartStrategy InPlaceRestart, whose agents follow the attempts in the status.
	InPlaceRestart bool
	// ElasticJobSet allows parallelism and completions of Indexed Jobs to change while they are running.
	ElasticJobSet bool
}

// Success applies the success policy. A JobSet without a succeeded Job is never complete, even if the policy requires none.
func Success(f Facts) Decision {
	succeeded, expected := targetsOf(f)
	if succeeded == 0 || succeeded < expected {
		return Decision{}
	}
	return Decision{
		Outcome: Complete,
		Reason:  v1alpha2.AllJobsCompletedReason,
		Message: "enough jobs have succeeded to satisfy the success policy",
	}
}

// targetsOf returns how many Jobs of the targets have succeeded, and how many must.
func targetsOf(f Facts) (succeeded, expected int64) {
	policy := SuccessPolicy(f.Spec)
	for i, s := range f.Tallies {
		if includes(policy.TargetReplicatedJobs, s.Name) {
			succeeded += int64(s.Succeeded)
			expected += int64(f.Spec.ReplicatedJobs[i].Replicas)
		}
	}
	if policy.Operator == v1alpha2.OperatorAny {
		expected = 1
	}
	return succeeded, expected
}
