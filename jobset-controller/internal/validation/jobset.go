// Package validation finds invalid fields of a JobSet, and returns their path and a message that describes a valid
// value. It performs no I/O. The webhook rejects faults that a request introduces. The controller reports faults that
// are older than the rules.
package validation

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// Problems holds the problems of a JobSet, grouped by their consequences.
type Problems struct {
	// Disabled lists fields that require a feature gate that is disabled.
	Disabled field.ErrorList
	// Blocking lists faults that make it unclear which Jobs start when. If this list or Disabled contains any faults,
	// nothing is started.
	Blocking field.ErrorList
	// Other lists all other faults. The rest of the spec is applied.
	Other field.ErrorList
}

func (p Problems) All() field.ErrorList { return slices.Concat(p.Disabled, p.Blocking, p.Other) }

// Stops reports whether nothing can be started.
func (p Problems) Stops() bool { return len(p.Disabled)+len(p.Blocking) > 0 }

// Of returns the faults of a JobSet that can be found without reading other objects.
func Of(js *v1alpha2.JobSet, features policy.Features) Problems {
	c := &checked{name: cmp.Or(js.Name, js.GenerateName+generatedSuffix), jobSet: js, spec: &js.Spec, path: field.NewPath("spec")}
	return Problems{
		Disabled: c.features(features),
		Blocking: c.startupRules(),
		Other: slices.Concat(c.replicatedJobs(), c.network(), c.successPolicy(), c.failurePolicy(), c.inPlaceRestart(), c.coordinator(), c.managedBy(),
			c.volumeClaims(), c.annotations()),
	}
}

type checked struct {
	name   string // the name of the JobSet, or a placeholder with the length of the name that the API server will generate
	jobSet *v1alpha2.JobSet
	spec   *v1alpha2.JobSetSpec
	path   *field.Path // path of the spec
}

// generatedSuffix has the length of the suffix that the API server appends to generateName.
const generatedSuffix = "xxxxx"

func (c *checked) replicatedJob(name string) *v1alpha2.ReplicatedJob {
	for i := range c.spec.ReplicatedJobs {
		if c.spec.ReplicatedJobs[i].Name == name {
			return &c.spec.ReplicatedJobs[i]
		}
	}
	return nil
}

// known rejects names that do not belong to a replicatedJob. It inserts where into the message.
func (c *checked) known(path *field.Path, names []string, where string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range names {
		if c.replicatedJob(name) == nil {
			errs = append(errs, unknownReplicatedJob(path.Index(i), name, where))
		}
	}
	return errs
}

func unknownReplicatedJob(path *field.Path, name, where string) *field.Error {
	return field.Invalid(path, name, fmt.Sprintf("invalid replicatedJob name '%s'%s does not appear in .spec.ReplicatedJobs", name, where))
}

func because(path *field.Path, value any, reasons []string) field.ErrorList {
	var errs field.ErrorList
	for _, reason := range reasons {
		errs = append(errs, field.Invalid(path, value, reason))
	}
	return errs
}

// features returns an error for each field whose feature gate is disabled.
func (c *checked) features(on policy.Features) field.ErrorList {
	if c.spec.FailurePolicy == nil {
		return nil
	}
	var errs field.ErrorList
	path := c.path.Child("failurePolicy")
	if c.spec.FailurePolicy.RestartStrategy == v1alpha2.InPlaceRestart && !on.InPlaceRestart {
		errs = append(errs, field.Forbidden(path.Child("restartStrategy"),
			"InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled"))
	}
	for i, rule := range c.spec.FailurePolicy.Rules {
		if policy.RestartsOneJob(rule.Action) && !on.RestartJob {
			errs = append(errs, field.Forbidden(path.Child("rules").Index(i).Child("action"),
				"RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed when RestartJob feature gate is disabled"))
		}
	}
	return errs
}

// Warnings returns warnings about fields that are accepted but may not mean what the user intended.
func Warnings(js *v1alpha2.JobSet) []string {
	var warnings []string
	for i := range js.Spec.ReplicatedJobs {
		if js.Spec.ReplicatedJobs[i].Template.Spec.TTLSecondsAfterFinished != nil {
			warnings = append(warnings, fmt.Sprintf("spec.replicatedJobs[%d].template.spec.ttlSecondsAfterFinished: a finished job that is deleted "+
				"while the JobSet is still running is recreated; use spec.ttlSecondsAfterFinished", i))
		}
	}
	return warnings
}
