package validation

import (
	"fmt"
	"math"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

// podSuffix has the length of the suffix that the Job controller adds to the name of a pod.
const podSuffix = "-xxxxx"

// replicatedJobs checks spec.replicatedJobs.
func (c *checked) replicatedJobs() field.ErrorList {
	var errs field.ErrorList
	earlier := map[string]bool{}
	for i := range c.spec.ReplicatedJobs {
		rjob, path := &c.spec.ReplicatedJobs[i], c.path.Child("replicatedJobs").Index(i)
		errs = append(errs, concat(c.jobNames(rjob, path), groupName(rjob, path), size(rjob, path), dependsOn(rjob, path, i, earlier))...)
		earlier[rjob.Name] = true
	}
	return errs
}

// jobNames checks the longest names that are generated for a replicatedJob.
func (c *checked) jobNames(rjob *v1alpha2.ReplicatedJob, path *field.Path) field.ErrorList {
	job := plan.JobName(c.name, rjob.Name, int(max(0, rjob.Replicas-1)))
	errs := label(path.Child("name"), job, "JobSet name is too long, job names generated for this JobSet will exceed 63 characters")
	completions := rjob.Template.Spec.Completions
	if completions == nil || !indexed(&rjob.Template.Spec) {
		return errs
	}
	pod := job + "-" + strconv.Itoa(int(max(0, *completions-1))) + podSuffix
	return append(errs, label(path.Child("name"), pod, "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters")...)
}

// label rejects a value that is not a DNS label, with the message tooLong if it is too long.
func label(path *field.Path, value, tooLong string) field.ErrorList {
	var errs field.ErrorList
	for _, reason := range validation.IsDNS1035Label(value) {
		if reason == validation.MaxLenError(validation.DNS1035LabelMaxLength) {
			reason = tooLong
		}
		errs = append(errs, field.Invalid(path, value, reason))
	}
	return errs
}

// indexed reports whether Jobs are Indexed, which is the default.
func indexed(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.IndexedCompletion) == batchv1.IndexedCompletion
}

// groupName checks the name of the group. Without a name it is the default group.
func groupName(rjob *v1alpha2.ReplicatedJob, path *field.Path) field.ErrorList {
	if rjob.GroupName == "" {
		return nil
	}
	return label(path.Child("groupName"), rjob.GroupName, ".spec.replicatedJob[].groupName is too long, must be less than 63 characters")
}

func size(rjob *v1alpha2.ReplicatedJob, path *field.Path) field.ErrorList {
	pods := int64(rjob.Replicas) * int64(ptr.Deref(rjob.Template.Spec.Parallelism, 1))
	if pods <= math.MaxInt32 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, pods, fmt.Sprintf(
		"the product of replicas and parallelism must not exceed %d for replicatedJob '%s'", math.MaxInt32, rjob.Name))}
}

func dependsOn(rjob *v1alpha2.ReplicatedJob, path *field.Path, index int, earlier map[string]bool) field.ErrorList {
	path = path.Child("dependsOn")
	var errs field.ErrorList
	if index == 0 && len(rjob.DependsOn) > 0 {
		errs = append(errs, field.Forbidden(path, "DependsOn can't be set for the first ReplicatedJob"))
	}
	for i, d := range rjob.DependsOn {
		if !earlier[d.Name] {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), d.Name, fmt.Sprintf(
				"replicatedJob: %s cannot depend on replicatedJob: %s", rjob.Name, d.Name)))
		}
	}
	return errs
}
