package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// coordinator must be a pod that will exist, with a name that is known beforehand and fits a label.
func (c *checked) coordinator() field.ErrorList {
	coordinator, path := c.spec.Coordinator, c.path.Child("coordinator")
	if coordinator == nil {
		return nil
	}
	entry := c.entry(coordinator.ReplicatedJob)
	switch {
	case entry == nil:
		return field.ErrorList{noSuchEntry(path.Child("replicatedJob"), coordinator.ReplicatedJob)}
	case !indexed(&entry.Template.Spec):
		return field.ErrorList{field.Invalid(path.Child("replicatedJob"), coordinator.ReplicatedJob, "has jobs with completionMode NonIndexed, whose pods have no fixed names")}
	case entry.Template.Spec.Completions == nil:
		return field.ErrorList{field.Invalid(path.Child("replicatedJob"), coordinator.ReplicatedJob, "has jobs without completions")}
	}
	errs := append(below(path.Child("jobIndex"), coordinator.JobIndex, entry.Replicas, "replicas"),
		below(path.Child("podIndex"), coordinator.PodIndex, *entry.Template.Spec.Completions, "completions")...)
	return append(errs, c.coordinatorLabel(path)...)
}

func below(path *field.Path, index int, limit int32, what string) field.ErrorList {
	if index >= 0 && index < int(limit) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, index, fmt.Sprintf("must be at least 0 and below %s, which is %d", what, limit))}
}

func (c *checked) coordinatorLabel(path *field.Path) field.ErrorList {
	named := c.jobSet.DeepCopy()
	named.Name = c.name
	address := plan.CoordinatorAddress(named)
	return because(path, address, prefixed("the address of the coordinator is written into a label: ", validation.IsValidLabelValue(address)))
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

// annotations that users set. The others are written by programs, which are not stopped by a value of the past.
func (c *checked) annotations() field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata", "annotations")
	for _, p := range policy.ReadInPlace(c.jobSet.Annotations).Problems {
		if p.Annotation == v1alpha2.InPlaceTimeoutKey || p.Annotation == v1alpha2.NodeLostAfterKey {
			errs = append(errs, field.Invalid(path.Key(p.Annotation), p.Value, withoutName(p)))
		}
	}
	if _, problem := policy.StuckPodTimeout(c.jobSet.Annotations); problem != nil {
		errs = append(errs, field.Invalid(path.Key(problem.Annotation), problem.Value, withoutName(*problem)))
	}
	return errs
}

// withoutName is for an error whose path names the annotation.
func withoutName(p policy.Problem) string {
	return strings.TrimPrefix(p.Message, "annotation "+p.Annotation+": ")
}
