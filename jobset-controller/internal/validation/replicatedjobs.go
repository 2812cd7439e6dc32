package validation

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

// podSuffix has the length of the suffix that the Job controller appends to the name of a pod.
const podSuffix = "-xxxxx"

func (c *checked) replicatedJobs() field.ErrorList {
	var errs field.ErrorList
	earlier := map[string]bool{}
	for i := range c.spec.ReplicatedJobs {
		rjob, path := &c.spec.ReplicatedJobs[i], c.path.Child("replicatedJobs").Index(i)
		errs = append(errs, slices.Concat(c.jobNames(rjob, path), groupName(rjob, path), size(rjob, path), dependsOn(rjob, path, i, earlier))...)
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
	reasons := validation.IsDNS1035Label(value)
	if i := slices.Index(reasons, validation.MaxLenError(validation.DNS1035LabelMaxLength)); i >= 0 {
		reasons[i] = tooLong
	}
	return because(path, value, reasons)
}

// indexed reports whether Jobs are Indexed, which is the default.
func indexed(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.IndexedCompletion) == batchv1.IndexedCompletion
}

// groupName checks the name of the group. If it is empty, the default group is used.
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

const maxClaimName = 63

func (c *checked) volumeClaims() field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, p := range c.spec.VolumeClaimPolicies {
		for j := range p.Templates {
			path := c.path.Child("volumeClaimPolicies").Index(i).Child("templates").Index(j)
			name := p.Templates[j].Name
			errs = append(errs, c.claim(path, name, seen[name])...)
			seen[name] = true
		}
	}
	return errs
}

func (c *checked) claim(path *field.Path, name string, again bool) field.ErrorList {
	at := path.Child("metadata", "name")
	if name == "" {
		return field.ErrorList{field.Required(at, "pods mount the claim by this name")}
	}
	if again {
		return field.ErrorList{field.Invalid(at, name, "names must be unique for VolumeClaimPolicies template")}
	}
	errs := append(because(at, name, validation.IsDNS1123Subdomain(name)), c.claimUse(at, name)...)
	if claim := plan.ClaimName(name, c.name); len(claim) > maxClaimName {
		errs = append(errs, field.Invalid(at, name, fmt.Sprintf(
			"VolumeClaimPolicies template name is too long, the claim name %q will exceed %d characters", claim, maxClaimName)))
	}
	return errs
}

// claimUse rejects a claim that no pod mounts, which is a mistake, and a claim whose volume already exists in a pod.
func (c *checked) claimUse(path *field.Path, name string) field.ErrorList {
	var errs field.ErrorList
	mounted := false
	for i := range c.spec.ReplicatedJobs {
		pod := &c.spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		mounted = mounted || plan.Mounts(pod, name)
		if at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name }); at >= 0 {
			volume := field.NewPath("spec", "replicatedJobs").Index(i).Child("template", "spec", "template", "spec", "volumes").Index(at).Child("name")
			errs = append(errs, field.Invalid(volume, name, "volume name conflicts with VolumeClaimPolicy template name: "+name))
		}
	}
	if !mounted {
		errs = append(errs, field.Invalid(path, name, fmt.Sprintf(
			"replicatedJob containers don't have a matching volumeMount: %s from VolumeClaimPolicies", name)))
	}
	return errs
}
