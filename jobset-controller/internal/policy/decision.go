// Package policy decides what becomes of a JobSet: which Jobs count, whether it is complete, has failed or restarts, which replicatedJobs
// may start. It is pure: it reads objects that were observed before and returns what to do together with why.
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
	// RestartJobs recreates some of its Jobs.
	RestartJobs
)

// Decision is an outcome together with why.
type Decision struct {
	Outcome Outcome
	// Reason and Message are those of the condition that the outcome makes True.
	Reason, Message string
	// Counts reports whether a restart counts towards maxRestarts.
	Counts bool
	// Action of the failure policy that asked for a restart.
	Action v1alpha2.FailurePolicyAction
	// Rule of the failure policy that asked for a restart of all Jobs; empty for the default.
	Rule string
	// Job whose failure decided, if one did. Of several the first.
	Job *batchv1.Job
	// Restarts of single Jobs, with the outcome RestartJobs.
	Restarts []JobRestart
}

// Failures are the Jobs that a decision rests on.
func (d Decision) Failures() []*batchv1.Job {
	if len(d.Restarts) > 0 {
		jobs := make([]*batchv1.Job, len(d.Restarts))
		for i, r := range d.Restarts {
			jobs[i] = r.Job
		}
		return jobs
	}
	if d.Job != nil {
		return []*batchv1.Job{d.Job}
	}
	return nil
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
	// Attempts of restartStrategy InPlaceRestart, nil without it.
	Attempts *Attempts
}

// Decide says what becomes of the JobSet. Failure goes before success, so that a JobSet whose Jobs do both at once restarts.
func Decide(f Facts) Decision {
	for _, rule := range []func(Facts) Decision{inPlaceBudget, attemptsBudget, failure, Success} {
		if d := rule(f); d.Outcome != Continue {
			return d
		}
	}
	return Decision{}
}

// Features are the feature gates of the published controller that change what becomes of a JobSet. All are off by default, as
// published.
type Features struct {
	// RestartJob: rules of the failure policy may restart single Jobs.
	RestartJob bool
	// InPlaceRestart: restartStrategy InPlaceRestart, whose agents follow the attempts in the status.
	InPlaceRestart bool
	// ElasticJobSet: parallelism and completions of Indexed Jobs may change while they run.
	ElasticJobSet bool
}
