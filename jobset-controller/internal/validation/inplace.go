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

// inPlaceRestart checks what the agents of restartStrategy InPlaceRestart require: pods that stay, and that start together.
func (c *checked) inPlaceRestart() field.ErrorList {
	if c.spec.FailurePolicy == nil || c.spec.FailurePolicy.RestartStrategy != v1alpha2.InPlaceRestart {
		return nil
	}
	errs := c.inPlaceAlone()
	for i := range c.spec.ReplicatedJobs {
		errs = append(errs, inPlaceJob(&c.spec.ReplicatedJobs[i], c.path.Child("replicatedJobs").Index(i).Child("template", "spec"))...)
	}
	return errs
}

// inPlaceAlone rejects what cannot be combined with this strategy.
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

func inPlaceJob(rjob *v1alpha2.ReplicatedJob, path *field.Path) field.ErrorList {
	job := &rjob.Template.Spec
	var errs field.ErrorList
	refuse := func(name string, value any, what string) {
		errs = append(errs, field.Invalid(path.Child(name), value, fmt.Sprintf("replicatedJob %s: %s when in-place restart is enabled", rjob.Name, what)))
	}
	if limit := ptr.Deref(job.BackoffLimit, 0); limit != math.MaxInt32 {
		refuse("backoffLimit", limit, fmt.Sprintf("must be set to %d (MaxInt32)", math.MaxInt32))
	}
	if p := ptr.Deref(job.PodReplacementPolicy, ""); p != batchv1.Failed {
		refuse("podReplacementPolicy", p, "must be set to Failed")
	}
	if job.Parallelism == nil || job.Completions == nil || *job.Parallelism != *job.Completions {
		refuse("completions", ptr.Deref(job.Completions, 0), "completions and parallelism must be set and equal to each other")
	}
	return errs
}
