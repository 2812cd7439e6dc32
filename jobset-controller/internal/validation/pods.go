package validation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// coordinator checks that the coordinator pod will exist, and that its name is known in advance and fits into a label.
func (c *checked) coordinator() field.ErrorList {
	coordinator, path := c.spec.Coordinator, c.path.Child("coordinator")
	if coordinator == nil {
		return nil
	}
	rjob := c.replicatedJob(coordinator.ReplicatedJob)
	switch {
	case rjob == nil:
		return field.ErrorList{field.Invalid(path.Child("replicatedJob"), coordinator.ReplicatedJob,
			fmt.Sprintf("coordinator replicatedJob %s does not exist", coordinator.ReplicatedJob))}
	case !indexed(&rjob.Template.Spec), rjob.Template.Spec.Completions == nil:
		return field.ErrorList{field.Invalid(path.Child("replicatedJob"), coordinator.ReplicatedJob,
			"job for coordinator pod must be indexed completion mode, and completions number must be set")}
	}
	var errs field.ErrorList
	if i := coordinator.JobIndex; i < 0 || i >= int(rjob.Replicas) {
		errs = append(errs, field.Invalid(path.Child("jobIndex"), i, fmt.Sprintf("coordinator job index %d is invalid for replicatedJob %s", i, rjob.Name)))
	}
	if i := coordinator.PodIndex; i < 0 || i >= int(*rjob.Template.Spec.Completions) {
		errs = append(errs, field.Invalid(path.Child("podIndex"), i, fmt.Sprintf(
			"coordinator pod index %d is invalid for replicatedJob %s job index %d", i, rjob.Name, coordinator.JobIndex)))
	}
	return append(errs, c.coordinatorLabel(path)...)
}

func (c *checked) coordinatorLabel(path *field.Path) field.ErrorList {
	named := c.jobSet.DeepCopy()
	named.Name = c.name
	address := plan.CoordinatorAddress(named)
	reasons := validation.IsValidLabelValue(address)
	if len(reasons) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, address, fmt.Sprintf(
		"spec will lead to invalid label value %q for coordinator label %q (long JobSet / ReplicatedJob / SubDomain name?): %s",
		address, v1alpha2.CoordinatorKey, strings.Join(reasons, ", ")))}
}

const maxManagedBy = 63

func (c *checked) managedBy() field.ErrorList {
	if c.spec.ManagedBy == nil {
		return nil
	}
	value, path := *c.spec.ManagedBy, c.path.Child("managedBy")
	if len(value) > maxManagedBy {
		return field.ErrorList{field.TooLong(path, value, maxManagedBy)}
	}
	return validation.IsDomainPrefixedPath(path, value)
}

func (c *checked) annotations() field.ErrorList {
	errs := policy.ReadInPlace(c.jobSet.Annotations).Problems
	policy.StuckPodTimeout(c.jobSet.Annotations, &errs)
	return append(errs, c.spares()...)
}

// spares rejects spares without in-place restarts, because users would rely on them.
func (c *checked) spares() field.ErrorList {
	if _, found := c.jobSet.Annotations[v1alpha2.InPlaceTimeoutKey]; found {
		return nil
	}
	const why = "spares need in-place restarts; set the annotation " + v1alpha2.InPlaceTimeoutKey + " of the JobSet"
	var errs field.ErrorList
	refuse := func(annotations map[string]string, path *field.Path) {
		if _, found := annotations[v1alpha2.SparesKey]; found {
			errs = append(errs, field.Forbidden(path.Child("metadata", "annotations").Key(v1alpha2.SparesKey), why))
		}
	}
	refuse(c.jobSet.Annotations, nil)
	for i := range c.spec.ReplicatedJobs {
		refuse(c.spec.ReplicatedJobs[i].Template.Annotations, c.path.Child("replicatedJobs").Index(i).Child("template"))
	}
	return errs
}

// inPlaceRestart checks that restartStrategy InPlaceRestart is usable: its agents require pods that are kept and that
// start together.
func (c *checked) inPlaceRestart() field.ErrorList {
	if !policy.UsesAttempts(c.spec) {
		return nil
	}
	errs := c.inPlaceAlone()
	for i := range c.spec.ReplicatedJobs {
		errs = append(errs, inPlaceJob(&c.spec.ReplicatedJobs[i], c.path.Child("replicatedJobs").Index(i).Child("template", "spec"))...)
	}
	return errs
}

// inPlaceAlone rejects settings that cannot be combined with restartStrategy InPlaceRestart.
func (c *checked) inPlaceAlone() field.ErrorList {
	var errs field.ErrorList
	path := c.path.Child("failurePolicy", "restartStrategy")
	if _, found := c.jobSet.Annotations[v1alpha2.InPlaceTimeoutKey]; found {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf(
			"InPlaceRestart cannot be combined with annotation %s, which restarts in place in another way; remove one of them", v1alpha2.InPlaceTimeoutKey)))
	}
	depends := func(rjob v1alpha2.ReplicatedJob) bool { return len(rjob.DependsOn) > 0 }
	if policy.InOrder(c.spec) || slices.ContainsFunc(c.spec.ReplicatedJobs, depends) {
		errs = append(errs, field.Forbidden(path, "InPlaceRestart cannot be combined with startupPolicyOrder InOrder or with dependsOn: "+
			"its agents wait for all pods of the JobSet, so the first stage would never be ready"))
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
