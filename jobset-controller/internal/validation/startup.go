package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// startupRules checks startupPolicy.rules: together they must name every replicatedJob except the last exactly once.
func (c *checked) startupRules() field.ErrorList {
	if c.spec.StartupPolicy == nil || len(c.spec.StartupPolicy.Rules) == 0 {
		return nil
	}
	path := c.path.Child("startupPolicy", "rules")
	if !policy.InOrder(c.spec) {
		return field.ErrorList{field.Forbidden(path, "rules need startupPolicyOrder InOrder")}
	}
	if at := c.firstDependsOn(); at != nil {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf("StartupPolicy and DependsOn APIs are mutually exclusive (%s)", at))}
	}
	errs, named := c.ruleTargets(path)
	return append(errs, c.unnamed(path, named)...)
}

func (c *checked) firstDependsOn() *field.Path {
	for i := range c.spec.ReplicatedJobs {
		if len(c.spec.ReplicatedJobs[i].DependsOn) > 0 {
			return c.path.Child("replicatedJobs").Index(i).Child("dependsOn")
		}
	}
	return nil
}

// ruleTargets also returns the replicatedJobs that the rules name.
func (c *checked) ruleTargets(path *field.Path) (field.ErrorList, map[string]bool) {
	var errs field.ErrorList
	named := map[string]bool{}
	for i := range c.spec.StartupPolicy.Rules {
		targets := path.Index(i).Child("targetReplicatedJobs")
		names := c.spec.StartupPolicy.Rules[i].TargetReplicatedJobs
		if len(names) == 0 {
			errs = append(errs, field.Required(targets, "a rule must name at least one replicatedJob"))
		}
		for j, name := range names {
			errs = append(errs, c.ruleTarget(targets.Index(j), name, named[name])...)
			named[name] = true
		}
	}
	return errs, named
}

func (c *checked) ruleTarget(path *field.Path, name string, again bool) field.ErrorList {
	switch {
	case c.replicatedJob(name) == nil:
		return field.ErrorList{unknownReplicatedJob(path, name)}
	case again:
		return field.ErrorList{field.Duplicate(path, name)}
	case name == c.last().Name:
		return field.ErrorList{field.Invalid(path, name, "is the last replicatedJob: no later replicatedJob can wait for it")}
	}
	return nil
}

func (c *checked) last() *v1alpha2.ReplicatedJob {
	return &c.spec.ReplicatedJobs[len(c.spec.ReplicatedJobs)-1]
}

// unnamed rejects replicatedJobs without a rule, whose gate would be accidental.
func (c *checked) unnamed(path *field.Path, named map[string]bool) field.ErrorList {
	var errs field.ErrorList
	for i := range len(c.spec.ReplicatedJobs) - 1 {
		if name := c.spec.ReplicatedJobs[i].Name; !named[name] {
			errs = append(errs, field.Required(path, fmt.Sprintf("no rule names %q (spec.replicatedJobs[%d]); every replicatedJob but the last must be named once", name, i)))
		}
	}
	return errs
}
