package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
)

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

// claimUse rejects a claim that no pod mounts, which is a mistake, and one whose volume a pod already has.
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
