package validation

import (
	"cmp"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// Update returns an error for each change that no update may make. Absent fields are treated as their defaults: adding
// or removing a default value is not a change.
func Update(old, js *v1alpha2.JobSet, features policy.Features) field.ErrorList {
	path := field.NewPath("spec")
	return slices.Concat(
		fixed(path.Child("managedBy"), old.Spec.ManagedBy, js.Spec.ManagedBy),
		fixed(path.Child("network"), policy.Network(&old.Spec), policy.Network(&js.Spec)),
		fixed(path.Child("successPolicy"), policy.SuccessPolicy(&old.Spec), policy.SuccessPolicy(&js.Spec)),
		fixed(path.Child("startupPolicy"), policy.StartupPolicy(&old.Spec), policy.StartupPolicy(&js.Spec)),
		replicatedJobs(old, js, features),
	)
}

func fixed(path *field.Path, old, now any) field.ErrorList {
	if equality.Semantic.DeepEqual(old, now) {
		return nil
	}
	return field.ErrorList{immutable(path, "")}
}

// immutable returns the API server's error with additional text.
func immutable(path *field.Path, more string) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, validation.FieldImmutableErrorMsg+more)
}

func replicatedJobs(old, js *v1alpha2.JobSet, features policy.Features) field.ErrorList {
	path := field.NewPath("spec", "replicatedJobs")
	before, after := names(old), names(js)
	if !slices.Equal(before, after) {
		return field.ErrorList{immutable(path, fmt.Sprintf(": replicatedJobs cannot be added, removed or reordered: %q became %q", before, after))}
	}
	c := change{
		suspended: ptr.Deref(old.Spec.Suspend, false) || ptr.Deref(js.Spec.Suspend, false),
		elastic:   features.ElasticJobSet,
		finished:  old.Status.TerminalState != "",
	}
	var errs field.ErrorList
	for i := range js.Spec.ReplicatedJobs {
		errs = append(errs, c.replicatedJob(path.Index(i), &old.Spec.ReplicatedJobs[i], &js.Spec.ReplicatedJobs[i])...)
	}
	return errs
}

func names(js *v1alpha2.JobSet) []string {
	all := make([]string, len(js.Spec.ReplicatedJobs))
	for i := range all {
		all[i] = js.Spec.ReplicatedJobs[i].Name
	}
	return all
}

// change describes which parts of a replicatedJob an update may change.
type change struct {
	// suspended is true if the JobSet is suspended before or after the update. A queue changes the pod template in the
	// request that resumes the JobSet, and reverts the change in the request that suspends it.
	suspended bool
	// elastic allows the size to change, unless the JobSet has finished.
	elastic, finished bool
}

const (
	whileSuspended = "; while the JobSet is suspended these fields of the pod template can be changed: " +
		"metadata.labels, metadata.annotations, spec.nodeSelector, spec.tolerations, spec.schedulingGates"
	unlessSuspended = "; some fields of the pod template can be changed while the JobSet is suspended"
)

func (c change) replicatedJob(path *field.Path, old, now *v1alpha2.ReplicatedJob) field.ErrorList {
	before, after := withDefaults(old), withDefaults(now)
	if c.suspended {
		followQueue(&before.Template.Spec.Template, &after.Template.Spec.Template)
	}
	var errs field.ErrorList
	if c.elastic && resized(&before.Template.Spec, &after.Template.Spec) {
		errs = c.resize(path.Child("template", "spec"), &after.Template.Spec)
		before.Template.Spec.Parallelism, before.Template.Spec.Completions = after.Template.Spec.Parallelism, after.Template.Spec.Completions
	}
	if equality.Semantic.DeepEqual(before, after) {
		return errs
	}
	if c.suspended {
		return append(errs, immutable(path, whileSuspended))
	}
	return append(errs, immutable(path, unlessSuspended))
}

// withDefaults returns a copy with the defaults that admission sets.
func withDefaults(rjob *v1alpha2.ReplicatedJob) *v1alpha2.ReplicatedJob {
	filled := rjob.DeepCopy()
	filled.GroupName = cmp.Or(filled.GroupName, plan.DefaultGroup)
	plan.Defaults(&filled.Template.Spec)
	delete(filled.Template.Annotations, v1alpha2.SparesKey) // the number of spares may change at any time
	return filled
}

// followQueue copies to the old template the fields that a queue may change.
func followQueue(old, now *corev1.PodTemplateSpec) {
	old.Labels, old.Annotations = now.Labels, now.Annotations
	old.Spec.NodeSelector, old.Spec.Tolerations, old.Spec.SchedulingGates = now.Spec.NodeSelector, now.Spec.Tolerations, now.Spec.SchedulingGates
}

func resized(old, now *batchv1.JobSpec) bool {
	indexedJobs := indexed(old) && indexed(now)
	return indexedJobs && !(equality.Semantic.DeepEqual(old.Parallelism, now.Parallelism) && equality.Semantic.DeepEqual(old.Completions, now.Completions))
}

// resize checks a change of a Job's size. The Job API requires that parallelism and completions change together.
func (c change) resize(path *field.Path, job *batchv1.JobSpec) field.ErrorList {
	if c.finished {
		return field.ErrorList{field.Forbidden(path, "Cannot mutate parallelism or completions when JobSet is in a terminal state (Completed or Failed)")}
	}
	if plan.Elastic(job) {
		return nil
	}
	var errs field.ErrorList
	parallelism, completions := ptr.Deref(job.Parallelism, 0), ptr.Deref(job.Completions, 0)
	if parallelism < 1 {
		errs = append(errs, field.Invalid(path.Child("parallelism"), parallelism, "parallelism must be >= 1"))
	}
	if completions < 1 {
		errs = append(errs, field.Invalid(path.Child("completions"), completions, "completions must be >= 1"))
	}
	if parallelism != completions {
		errs = append(errs, field.Invalid(path.Child("completions"), completions, "completions must be equal to parallelism for Elastic Indexed Jobs"))
	}
	return errs
}
