package validation

import (
	"fmt"
	"math"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// inPlaceRestart checks what the agents of restartStrategy InPlaceRestart rest on: pods that stay, and start together.
func (c *checked) inPlaceRestart() field.ErrorList {
	if c.spec.FailurePolicy == nil || c.spec.FailurePolicy.RestartStrategy != v1alpha2.InPlaceRestart {
		return nil
	}
	errs := c.inPlaceAlone()
	for i := range c.spec.ReplicatedJobs {
		errs = append(errs, inPlaceJob(&c.spec.ReplicatedJobs[i].Template.Spec, c.path.Child("replicatedJobs").Index(i).Child("template", "spec"))...)
	}
	return errs
}

// inPlaceAlone refuses what cannot go together with it.
func (c *checked) inPlaceAlone() field.ErrorList {
	var errs field.ErrorList
	path := c.path.Child("failurePolicy", "restartStrategy")
	if _, found := c.jobSet.Annotations[v1alpha2.InPlaceTimeoutKey]; found {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf(
			"InPlaceRestart cannot be combined with annotation %s, which restarts in place in another way; remove one of them", v1alpha2.InPlaceTimeoutKey)))
	}
	const stages = "its agents wait for all pods of the JobSet, so the first stage would never be ready"
	if policy.InOrder(c.spec) {
		errs = append(errs, field.Forbidden(path, "InPlaceRestart cannot be combined with startupPolicyOrder InOrder: "+stages))
	}
	if at := c.firstDependsOn(); at != nil {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf("InPlaceRestart cannot be combined with dependsOn (%s): %s", at, stages)))
	}
	return errs
}

func inPlaceJob(job *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if limit := ptr.Deref(job.BackoffLimit, 0); limit != math.MaxInt32 {
		errs = append(errs, field.Invalid(path.Child("backoffLimit"), limit, fmt.Sprintf("must be %d with restartStrategy InPlaceRestart", math.MaxInt32)))
	}
	if p := ptr.Deref(job.PodReplacementPolicy, ""); p != batchv1.Failed {
		errs = append(errs, field.Invalid(path.Child("podReplacementPolicy"), p, "must be Failed with restartStrategy InPlaceRestart"))
	}
	if job.Parallelism == nil || job.Completions == nil || *job.Parallelism != *job.Completions {
		errs = append(errs, field.Invalid(path.Child("completions"), ptr.Deref(job.Completions, 0),
			fmt.Sprintf("completions and parallelism must both be set and be equal with restartStrategy InPlaceRestart; parallelism is %d", ptr.Deref(job.Parallelism, 0))))
	}
	return errs
}
