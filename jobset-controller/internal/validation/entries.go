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

// jobNames looks at the longest names that come of an entry.
func (c *checked) jobNames(entry *v1alpha2.ReplicatedJob, path *field.Path) field.ErrorList {
	job := plan.JobName(c.name, entry.Name, int(max(0, entry.Replicas-1)))
	errs := because(path.Child("name"), entry.Name, prefixed(fmt.Sprintf("gives jobs the name %q: ", job), validation.IsDNS1035Label(job)))
	completions := entry.Template.Spec.Completions
	if len(errs) > 0 || completions == nil || !indexed(&entry.Template.Spec) {
		return errs
	}
	pod := job + "-" + strconv.Itoa(int(max(0, *completions-1))) + podSuffix
	return because(path.Child("name"), entry.Name, prefixed(fmt.Sprintf("gives pods names such as %q: ", pod), validation.IsDNS1035Label(pod)))
}

func prefixed(prefix string, reasons []string) []string {
	var all []string
	for _, reason := range reasons {
		all = append(all, prefix+reason)
	}
	return all
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
	return because(path.Child("groupName"), entry.GroupName, validation.IsDNS1035Label(entry.GroupName))
}

func size(entry *v1alpha2.ReplicatedJob, path *field.Path) field.ErrorList {
	pods := int64(entry.Replicas) * int64(ptr.Deref(entry.Template.Spec.Parallelism, 1))
	if pods <= math.MaxInt32 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, pods, fmt.Sprintf("replicas times parallelism must be at most %d", math.MaxInt32))}
}

func dependsOn(entry *v1alpha2.ReplicatedJob, path *field.Path, index int, earlier map[string]bool) field.ErrorList {
	path = path.Child("dependsOn")
	if index == 0 && len(entry.DependsOn) > 0 {
		return field.ErrorList{field.Forbidden(path, "the first entry has nothing before it to depend on")}
	}
	var errs field.ErrorList
	for i, d := range entry.DependsOn {
		if !earlier[d.Name] {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), d.Name, "is not the name of an entry that comes earlier in spec.replicatedJobs"))
		}
	}
	return errs
}
