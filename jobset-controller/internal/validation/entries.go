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

// podSuffix has the length of what the Job controller adds to the name of a pod.
const podSuffix = "-xxxxx"

// entries checks spec.replicatedJobs.
func (c *checked) entries() field.ErrorList {
	var errs field.ErrorList
	earlier := map[string]bool{}
	for i := range c.spec.ReplicatedJobs {
		entry, path := &c.spec.ReplicatedJobs[i], c.path.Child("replicatedJobs").Index(i)
		errs = append(errs, concat(c.jobNames(entry, path), groupName(entry, path), size(entry, path), dependsOn(entry, path, i, earlier))...)
		earlier[entry.Name] = true
	}
	return errs
}

// jobNames checks the longest names that are generated for an entry.
func (c *checked) jobNames(entry *v1alpha2.ReplicatedJob, path *field.Path) field.ErrorList {
	job := plan.JobName(c.name, entry.Name, int(max(0, entry.Replicas-1)))
	errs := label(path.Child("name"), job, "JobSet name is too long, job names generated for this JobSet will exceed 63 characters")
	completions := entry.Template.Spec.Completions
	if completions == nil || !indexed(&entry.Template.Spec) {
		return errs
	}
	pod := job + "-" + strconv.Itoa(int(max(0, *completions-1))) + podSuffix
	return append(errs, label(path.Child("name"), pod, "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters")...)
}

// label refuses a value that is no DNS label; tooLong says so of one that is too long.
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

// indexed is the default.
func indexed(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.IndexedCompletion) == batchv1.IndexedCompletion
}

// groupName absent is the default group.
func groupName(entry *v1alpha2.ReplicatedJob, path *field.Path) field.ErrorList {
	if entry.GroupName == "" {
		return nil
	}
	return label(path.Child("groupName"), entry.GroupName, ".spec.replicatedJob[].groupName is too long, must be less than 63 characters")
}

func size(entry *v1alpha2.ReplicatedJob, path *field.Path) field.ErrorList {
	pods := int64(entry.Replicas) * int64(ptr.Deref(entry.Template.Spec.Parallelism, 1))
	if pods <= math.MaxInt32 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, pods, fmt.Sprintf(
		"the product of replicas and parallelism must not exceed %d for replicatedJob '%s'", math.MaxInt32, entry.Name))}
}

func dependsOn(entry *v1alpha2.ReplicatedJob, path *field.Path, index int, earlier map[string]bool) field.ErrorList {
	path = path.Child("dependsOn")
	var errs field.ErrorList
	if index == 0 && len(entry.DependsOn) > 0 {
		errs = append(errs, field.Forbidden(path, "DependsOn can't be set for the first ReplicatedJob"))
	}
	for i, d := range entry.DependsOn {
		if !earlier[d.Name] {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), d.Name, fmt.Sprintf(
				"replicatedJob: %s cannot depend on replicatedJob: %s", entry.Name, d.Name)))
		}
	}
	return errs
}
